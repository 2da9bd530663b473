//! An authority: the host and port that a request is for. RFC 3986 §3.2, without user information.

use std::net::{Ipv4Addr, Ipv6Addr};

/// RFC 1035 §2.3.4.
const MAX_LENGTH: usize = 255;

/// A host name, perhaps with a port. Empty if an old client sends none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Authority<'a> {
    /// The name without a trailing dot, which servers treat differently. In brackets if it is an
    /// IPv6 address.
    name: &'a str,
    port: &'a str,
}

impl<'a> Authority<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let end = match text.strip_prefix('[') {
            Some(rest) => rest.find(']')? + 2,
            None => text.find(':').unwrap_or(text.len()),
        };
        let (name, rest) = text.split_at_checked(end)?;
        let port = rest.strip_prefix(':').unwrap_or(rest);
        let name = name.strip_suffix('.').unwrap_or(name);
        let sound = (rest.is_empty() || rest.starts_with(':')) && is_name(name) && is_port(port);
        sound.then_some(Self { name, port })
    }

    pub(crate) fn name(&self) -> &'a str {
        self.name
    }

    /// Whether the authority is this host, with any port. Case makes no difference (RFC 9110
    /// §4.2.3), nor does the way in which an address is written.
    pub(crate) fn is_host(&self, host: &str) -> bool {
        self.name.eq_ignore_ascii_case(host)
            || address(self.name).is_some_and(|own| address(host) == Some(own))
    }

    /// Whether URL parsers read the host as an IPv4 address that programs which compare text do not
    /// recognize: `127.1`, `0x7f000001`, `0177.0.0.1` (WHATWG URL §3.5, "ends in a number").
    pub(crate) fn is_unclear_number(&self) -> bool {
        let last = self.name.rsplit('.').next().unwrap_or_default();
        let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
        let is_hex = hex.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let is_decimal = !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit());
        (is_decimal || is_hex) && self.name.parse::<Ipv4Addr>().is_err()
    }

    pub(crate) fn is_same_host(&self, other: &Self) -> bool {
        self.is_host(other.name)
    }

    pub(crate) fn port(&self, default: &'a str) -> &'a str {
        if self.port.is_empty() {
            default
        } else {
            self.port
        }
    }

    /// Writes the authority for the backend: in lower case, and without an empty port.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(self.name.as_bytes());
        if let Some(name) = out.get_mut(start..) {
            name.make_ascii_lowercase();
        }
        if !self.port.is_empty() {
            out.push(b':');
            out.extend_from_slice(self.port.as_bytes());
        }
    }
}

/// The allowed characters of names; no label is empty.
fn is_name(name: &str) -> bool {
    if name.starts_with('[') {
        return address(name).is_some();
    }
    let mut before = b'.';
    for byte in name.bytes() {
        match byte {
            b'.' if before == b'.' => return false,
            b'.' | b'-' | b'_' | b'~' => {}
            _ if byte.is_ascii_alphanumeric() => {}
            _ => return false,
        }
        before = byte;
    }
    before != b'.'
}

fn is_port(port: &str) -> bool {
    port.is_empty() || (port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok())
}

/// Parses an IPv6 address with or without brackets.
fn address(name: &str) -> Option<Ipv6Addr> {
    if !name.contains(':') {
        return None;
    }
    let bare = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    bare.unwrap_or(name).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_a_host_and_perhaps_a_port() {
        for (text, written) in [
            ("a", "a"),
            ("A.b-c_d.", "a.b-c_d"),
            ("a.example.:8443", "a.example:8443"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("[::1]:8443", "[::1]:8443"),
            ("a:", "a"),
            ("a:65535", "a:65535"),
        ] {
            let mut out = Vec::new();
            Authority::parse(text).unwrap().write(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), written);
        }
        for bad in [
            "",
            ".",
            "a..",
            "a..b",
            ".a",
            ":80",
            "a:b",
            "a:80:90",
            "a:+80",
            "a:65536",
            "a.:.",
            "[::1",
            "::1]",
            "[]",
            "[::1]x",
            "[::1].",
            "[a.example:80]x",
            "[g]",
            "[1:2]",
            "a@b",
            "a,b",
            "a b",
            "a%00",
            "a%2e",
            "(a)",
            "a;b",
            "\u{e9}",
            "[\u{e9}]",
        ] {
            assert_eq!(Authority::parse(bad), None, "{bad}");
        }
        assert_eq!(Authority::parse(&"a".repeat(MAX_LENGTH + 1)), None);
    }

    #[test]
    fn an_address_is_four_decimals() {
        for (text, unclear) in [
            ("127.0.0.1", false),
            ("127.0.0.1.:80", false),
            ("[::1]", false),
            ("[::ffff:127.0.0.1]", false),
            ("a.example", false),
            ("1.example", false),
            ("a.0xg", false),
            ("a.1b", false),
            ("127.1", true),
            ("127.1.:80", true),
            ("2130706433", true),
            ("0x7f000001", true),
            ("0X7F.1", true),
            ("127.0.0.0x1", true),
            ("127.0.0.0x", true),
            ("0177.0.0.1", true),
            ("127.0.0.01", true),
            ("127.0.0.256", true),
            ("1.127.0.0.1", true),
            ("a.1", true),
        ] {
            let host = Authority::parse(text).unwrap();
            assert_eq!(host.is_unclear_number(), unclear, "{text}");
        }
        assert!(!Authority::default().is_unclear_number());
    }

    #[test]
    fn a_host_is_the_same_however_it_is_written() {
        for (text, host, same) in [
            ("Secret.Example.:443", "secret.example", true),
            ("secret.example", "Secret.Example", true),
            ("secret.example.evil", "secret.example", false),
            ("[::1]:8443", "::1", true),
            ("[0:0::1]", "[::1]", true),
            ("[::2]", "[::1]", false),
            ("a", "", false),
        ] {
            assert_eq!(
                Authority::parse(text).unwrap().is_host(host),
                same,
                "{text}"
            );
        }
        assert!(!Authority::default().is_host("a"));
    }
}
