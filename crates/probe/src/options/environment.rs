//! Proxies from environment variables, read as curl reads them: `http_proxy` (in small letters
//! only, because a CGI server derives `HTTP_PROXY` from a request's header), `https_proxy`,
//! `all_proxy` and `no_proxy`, the last three in capitals too.

use std::net::IpAddr;

use roundtrip_model::{Scheme, Target};

use super::error::OptionsError;
use super::proxy::Proxy;

/// The largest number of exceptions that are read from a list.
const MAX_EXCEPTIONS: usize = 1000;

/// The proxies that the environment names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    http: Option<Named>,
    https: Option<Named>,
    exceptions: Exceptions,
}

/// A proxy, and the variable that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    by: &'static str,
    proxy: Proxy,
}

impl Environment {
    /// Reads the variables with `read`. An empty variable counts as unset.
    pub fn read(read: impl Fn(&str) -> Option<String>) -> Result<Self, OptionsError> {
        let read = |name: &str| read(name).filter(|value| !value.is_empty());
        let exceptions = Exceptions::parse(
            &read("no_proxy")
                .or_else(|| read("NO_PROXY"))
                .unwrap_or_default(),
        );
        if exceptions.all {
            return Ok(Self::default());
        }
        let first = |names: [&'static str; 4]| {
            let said = names.iter().find_map(|name| Some((*name, read(name)?)));
            said.map(|(by, value)| {
                let proxy = value
                    .parse()
                    .map_err(|error| OptionsError::Environment(by, Box::new(error)))?;
                Ok::<Named, OptionsError>(Named { by, proxy })
            })
            .transpose()
        };
        Ok(Self {
            http: first(["http_proxy", "http_proxy", "all_proxy", "ALL_PROXY"])?,
            https: first(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])?,
            exceptions,
        })
    }

    /// Uses the ports of the proxies' schemes, see [`Proxy::with_port_of_scheme`].
    #[must_use]
    pub fn with_ports_of_schemes(mut self) -> Self {
        for named in [&mut self.http, &mut self.https] {
            *named = named.take().map(|Named { by, proxy }| Named {
                by,
                proxy: proxy.with_port_of_scheme(),
            });
        }
        self
    }

    /// The proxy for this target, and the variable that names it.
    pub(crate) fn proxy_for(&self, target: &Target) -> Option<(&'static str, &Proxy)> {
        let named = match target.scheme {
            Scheme::Http => self.http.as_ref()?,
            Scheme::Https => self.https.as_ref()?,
            Scheme::Tcp => return None,
        };
        let excepted = self.exceptions.contains(&target.host_name());
        (!excepted).then_some((named.by, &named.proxy))
    }
}

/// Hosts that are contacted directly: names with all their subdomains, addresses, networks, or `*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exceptions {
    all: bool,
    hosts: Vec<String>,
}

impl Exceptions {
    /// Parses a list that is separated by commas or spaces.
    pub fn parse(list: &str) -> Self {
        let parts = list.split([',', ' ', '\t']).filter(|part| !part.is_empty());
        let bare = |part: &str| {
            let part = part.trim_start_matches('.').trim_end_matches('.');
            part.trim_matches(['[', ']']).to_ascii_lowercase()
        };
        Self {
            all: list.trim() == "*",
            hosts: parts.map(bare).take(MAX_EXCEPTIONS).collect(),
        }
    }

    /// Whether the client connects to `host` directly.
    pub(crate) fn contains(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').trim_matches(['[', ']']);
        let host = host.to_ascii_lowercase();
        let address: Option<IpAddr> = host.parse().ok();
        self.all
            || self.hosts.iter().any(|known| match address {
                Some(address) => is_within(address, known),
                None => host
                    .strip_suffix(known.as_str())
                    .is_some_and(|before| before.is_empty() || before.ends_with('.')),
            })
    }
}

/// Whether `known` is the address, or a network around it in the form `192.0.2.0/24`.
fn is_within(address: IpAddr, known: &str) -> bool {
    let (network, bits) = known.split_once('/').unwrap_or((known, ""));
    let Ok(network) = network.parse::<IpAddr>() else {
        return false;
    };
    if bits.is_empty() {
        return network == address;
    }
    let Ok(bits) = bits.parse::<u32>() else {
        return false;
    };
    // Both are in the upper bits of 128.
    let (a, n, width) = match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) => (
            u128::from(a.to_bits()) << 96,
            u128::from(n.to_bits()) << 96,
            32,
        ),
        (IpAddr::V6(a), IpAddr::V6(n)) => (a.to_bits(), n.to_bits(), 128),
        _ => return false,
    };
    bits <= width && (a ^ n).leading_zeros() >= bits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(said: &[(&str, &str)]) -> Result<Environment, OptionsError> {
        Environment::read(|name| {
            let found = said.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    /// The variable, and the proxy's port, which identifies the proxy.
    fn chosen(said: &[(&str, &str)], url: &str) -> Option<(&'static str, u16)> {
        let environment = environment(said).unwrap();
        let found = environment.proxy_for(&Target::parse(url).unwrap());
        found.map(|(by, proxy)| (by, proxy.0.port))
    }

    #[test]
    fn small_letters_come_first_and_http_proxy_has_no_capitals() {
        let both = [
            ("HTTPS_PROXY", "a:1"),
            ("https_proxy", "a:2"),
            ("HTTP_PROXY", "a:3"),
        ];
        assert_eq!(chosen(&both, "https://x/"), Some(("https_proxy", 2)));
        assert_eq!(chosen(&both, "http://x/"), None);
        let all = [
            ("http_proxy", ""),
            ("HTTPS_PROXY", "a:1"),
            ("ALL_PROXY", "a:4"),
        ];
        assert_eq!(chosen(&all, "http://x/"), Some(("ALL_PROXY", 4)));
        assert_eq!(chosen(&all, "https://x/"), Some(("HTTPS_PROXY", 1)));
        assert_eq!(chosen(&all, "tcp://x:7"), None);
        let none = [("ALL_PROXY", "a:4"), ("NO_PROXY", "other, x")];
        assert_eq!(chosen(&none, "https://x/"), None);
        assert_eq!(chosen(&none, "https://y/"), Some(("ALL_PROXY", 4)));
    }

    #[test]
    fn invalid_proxies_are_named_with_their_variable() {
        let error = environment(&[("all_proxy", "socks5://a")]).unwrap_err();
        assert!(error.to_string().starts_with("all_proxy: "), "{error}");
        let unused = [("all_proxy", "socks5://a"), ("no_proxy", "*")];
        assert_eq!(environment(&unused).unwrap(), Environment::default());
    }

    #[test]
    fn exceptions_are_names_addresses_and_networks() {
        let list =
            Exceptions::parse(".example.com,LOCALHOST 192.0.2.0/24, [2001:db8::1],10.0.0.0/0x");
        for held in [
            "example.com",
            "a.Example.com.",
            "localhost",
            "192.0.2.200",
            "2001:db8::1",
        ] {
            assert!(list.contains(held), "{held}");
        }
        for other in [
            "notexample.com",
            "example.com.evil",
            "192.0.3.1",
            "10.0.0.1",
            "2001:db8::2",
            "com",
        ] {
            assert!(!list.contains(other), "{other}");
        }
        assert!(Exceptions::parse("*").contains("anything"));
        assert!(!Exceptions::parse("").contains("anything"));
        assert!(Exceptions::parse("0.0.0.0/0").contains("198.51.100.1"));
        assert!(!Exceptions::parse("0.0.0.0/33").contains("198.51.100.1"));
    }
}
