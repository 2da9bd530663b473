//! The `Alt-Svc` field: other hosts, ports and protocols that serve an origin. RFC 7838 §3.

use crate::field::Scanner;
use crate::percent;

/// Longer lists are truncated; honest servers do not send them.
const MAX_ALTERNATIVES: usize = 64;
/// The default in seconds: one day. RFC 7838 §3.1.
const DEFAULT_MAX_AGE: u64 = 24 * 60 * 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AltSvc {
    /// Forget the earlier alternatives.
    Clear,
    /// The alternatives, in the server's order of preference.
    Alternatives(Vec<Alternative>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    /// The ALPN identifier, for example `h3`.
    pub protocol: String,
    /// Empty for the origin's own host; IPv6 addresses have brackets.
    pub host: String,
    pub port: u16,
    /// The maximum age in seconds.
    pub max_age: u64,
    /// The alternative stays valid after a change of network.
    pub persist: bool,
}

/// Parses one field value. Malformed alternatives are skipped.
pub fn parse(value: &[u8]) -> AltSvc {
    // Case-sensitive. RFC 7838 §3.
    if value.trim_ascii() == b"clear" {
        return AltSvc::Clear;
    }
    let mut scanner = Scanner::new(value);
    let mut alternatives = Vec::new();
    while !scanner.is_empty() && alternatives.len() < MAX_ALTERNATIVES {
        scanner.skip_space();
        alternatives.extend(read_alternative(&mut scanner));
        scanner.skip_to(b",");
        scanner.eat(b',');
    }
    AltSvc::Alternatives(alternatives)
}

fn read_alternative(scanner: &mut Scanner<'_>) -> Option<Alternative> {
    let protocol = percent_decoded(scanner.token()?)?;
    if !scanner.eat(b'=') {
        return None;
    }
    let authority = scanner.quoted()?;
    let (host, port) = authority.rsplit_once(':')?;
    let mut alternative = Alternative {
        protocol,
        host: host.to_owned(),
        port: port.parse().ok().filter(|port| *port != 0)?,
        max_age: DEFAULT_MAX_AGE,
        persist: false,
    };
    while scanner.eat(b';') {
        let Some(key) = scanner.token() else {
            scanner.skip_to(b";,");
            continue;
        };
        if scanner.eat(b'=') {
            let value = scanner.token_or_quoted().unwrap_or_default();
            if key.eq_ignore_ascii_case("ma") {
                alternative.max_age = value.parse().unwrap_or(DEFAULT_MAX_AGE);
            } else if key.eq_ignore_ascii_case("persist") {
                // RFC 7838 §3.1: other values have no meaning.
                alternative.persist = value == "1";
            }
        }
        scanner.skip_to(b";,");
    }
    Some(alternative)
}

/// RFC 7838 §3: octets that are not allowed in a token are percent-encoded.
fn percent_decoded(token: &str) -> Option<String> {
    let decoded: Result<Vec<u8>, _> = percent::decode_strict(token).collect();
    Some(crate::text::printable(&decoded.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Vec<(String, String, u16, u64, bool)> {
        match parse(value.as_bytes()) {
            AltSvc::Clear => panic!("clear"),
            AltSvc::Alternatives(list) => list
                .into_iter()
                .map(|a| (a.protocol, a.host, a.port, a.max_age, a.persist))
                .collect(),
        }
    }

    #[test]
    fn alternatives_are_read_in_order() {
        assert_eq!(
            read("h3=\":443\"; ma=86400, h2=\"alt.example.com:8000\";ma=60; persist=1"),
            [
                ("h3".into(), String::new(), 443, 86_400, false),
                ("h2".into(), "alt.example.com".into(), 8000, 60, true)
            ]
        );
        assert_eq!(
            read("w%3Dx%3Ay#z=\"[::1]:1\""),
            [("w=x:y#z".into(), "[::1]".into(), 1, 86_400, false)]
        );
        assert_eq!(parse(b" clear "), AltSvc::Clear);
    }

    #[test]
    fn unreadable_entries_are_skipped() {
        assert_eq!(read(""), []);
        for bad in [
            "h3",
            "h3=:443",
            "h3=\":0\"",
            "h3=\":65536\"",
            "h3=\"443\"",
            "h3=\":443",
            "%zz=\":1\"",
            "Clear",
            "=\":443\"",
        ] {
            assert_eq!(read(bad), [], "{bad}");
            assert_eq!(
                read(&format!("h2=\":1\";ma=x,{bad}")),
                [("h2".into(), String::new(), 1, 86_400, false)],
                "{bad}"
            );
        }
        assert_eq!(read("h3=bad;a=\",\", h2=\":2\";;ma=5").len(), 1);
    }

    #[test]
    fn lists_are_bounded() {
        let AltSvc::Alternatives(list) = parse("h3=\":443\",".repeat(1000).as_bytes()) else {
            panic!("clear");
        };
        assert_eq!(list.len(), MAX_ALTERNATIVES);
    }
}
