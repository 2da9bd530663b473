//! Parses the text of /etc/hosts: addresses by name (hosts(5)). The caller reads the file.

use std::collections::HashMap;
use std::net::IpAddr;

/// Names, compared without case, each with its addresses in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hosts {
    addresses: HashMap<String, Vec<IpAddr>>,
}

impl Hosts {
    /// Malformed lines are skipped, as in the C library.
    pub fn parse(text: &str) -> Self {
        let mut hosts = Self::default();
        for line in text.lines() {
            let entry = line.split('#').next().unwrap_or_default();
            let mut words = entry.split_ascii_whitespace();
            let Some(address) = words.next().and_then(read_address) else {
                continue;
            };
            for name in words {
                let known = hosts.addresses.entry(key(name)).or_default();
                if !known.contains(&address) {
                    known.push(address);
                }
            }
        }
        hosts
    }

    /// The addresses of a name, with or without its final dot; empty if the file does not have the
    /// name.
    pub fn lookup(&self, name: &str) -> &[IpAddr] {
        self.addresses.get(&key(name)).map_or(&[], Vec::as_slice)
    }
}

/// Parses an address and drops the zone of a link-local one (`fe80::1%eth0`).
fn read_address(word: &str) -> Option<IpAddr> {
    let (address, _zone) = word.split_once('%').unwrap_or((word, ""));
    address.parse().ok()
}

fn key(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# a comment
127.0.0.1\tlocalhost  Local.Example # another
::1 localhost ip6-localhost
127.0.0.1 localhost

fe80::1%eth0 router
not-an-address nowhere
10.0.0.1
";

    #[test]
    fn names_are_found_whatever_their_case() {
        let hosts = Hosts::parse(TEXT);
        let four: IpAddr = "127.0.0.1".parse().unwrap();
        assert_eq!(hosts.lookup("LOCALHOST."), [four, "::1".parse().unwrap()]);
        assert_eq!(hosts.lookup("local.example"), [four]);
        assert_eq!(
            hosts.lookup("router"),
            ["fe80::1".parse::<IpAddr>().unwrap()]
        );
    }

    #[test]
    fn silence_is_not_an_answer() {
        let hosts = Hosts::parse(TEXT);
        for name in ["nowhere", "another", "#", "", "10.0.0.1", "localhost.."] {
            assert!(hosts.lookup(name).is_empty(), "{name}");
        }
        assert_eq!(Hosts::parse(""), Hosts::default());
    }
}
