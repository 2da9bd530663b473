//! `--resolve` and `--connect-to`: where to connect, overriding name servers and the URL.

use roundtrip_model::excerpt;
use std::net::IpAddr;
use std::str::FromStr;

use super::error::OptionsError;

/// `--resolve HOST:PORT:ADDR[,ADDR]…`: use these addresses instead of asking name servers. `*`
/// stands for any host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    pub host: String,
    pub port: u16,
    pub addresses: Vec<IpAddr>,
}

/// `--connect-to HOST1:PORT1:HOST2:PORT2`: connect to another host, and send the same request.
/// Empty parts: HOST1 or PORT1 means any, HOST2 or PORT2 means the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectTo {
    pub from_host: Option<String>,
    pub from_port: Option<u16>,
    pub to_host: Option<String>,
    pub to_port: Option<u16>,
}

impl FromStr for Override {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let bad = || OptionsError::Override(excerpt(text, 80));
        let (host, rest) = split_host(text).ok_or_else(bad)?;
        let (port, addresses) = rest.split_once(':').ok_or_else(bad)?;
        let addresses: Option<Vec<IpAddr>> = addresses
            .split(',')
            .map(|a| {
                a.trim()
                    .trim_start_matches('[')
                    .trim_end_matches(']')
                    .parse()
                    .ok()
            })
            .collect();
        Ok(Self {
            host: host.trim_start_matches(['+', '-']).to_ascii_lowercase(),
            port: port.parse().map_err(|_| bad())?,
            addresses: addresses.ok_or_else(bad)?,
        })
    }
}

impl Override {
    pub(crate) fn fits(&self, host: &str, port: u16) -> bool {
        self.port == port && (self.host == "*" || self.host.eq_ignore_ascii_case(host))
    }
}

impl FromStr for ConnectTo {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let bad = || OptionsError::ConnectTo(excerpt(text, 80));
        let (from_host, rest) = split_host(text).ok_or_else(bad)?;
        let (from_port, rest) = rest.split_once(':').ok_or_else(bad)?;
        let (to_host, to_port) = split_host(rest).ok_or_else(bad)?;
        let host = |h: &str| (!h.is_empty()).then(|| h.to_ascii_lowercase());
        let port = |p: &str| match p {
            "" => Ok(None),
            p => p.parse().map(Some).map_err(|_| bad()),
        };
        Ok(Self {
            from_host: host(from_host),
            from_port: port(from_port)?,
            to_host: host(to_host),
            to_port: port(to_port)?,
        })
    }
}

impl ConnectTo {
    pub(crate) fn fits(&self, host: &str, port: u16) -> bool {
        self.from_host
            .as_deref()
            .is_none_or(|h| h.eq_ignore_ascii_case(host))
            && self.from_port.is_none_or(|p| p == port)
    }
}

/// Splits a host (in brackets if it is an IPv6 address) from the text behind its colon.
fn split_host(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            Some((host, rest.strip_prefix(':')?))
        }
        None => text.split_once(':'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_are_read_as_curl_reads_them() {
        let o: Override = "Example.com:443:127.0.0.1,[::1]".parse().unwrap();
        assert!(o.fits("EXAMPLE.com", 443) && !o.fits("example.com", 80));
        assert_eq!(o.addresses.len(), 2);
        assert!("*:80:::1".parse::<Override>().unwrap().fits("anything", 80));
        for bad in ["", "a", "a:1", "a:x:1.2.3.4", "a:1:nope", "[::1"] {
            assert!(bad.parse::<Override>().is_err(), "{bad}");
        }
    }

    #[test]
    fn connect_to_may_leave_parts_open() {
        let c: ConnectTo = "example.com:443:[::1]:8443".parse().unwrap();
        assert_eq!((c.to_host.as_deref(), c.to_port), (Some("::1"), Some(8443)));
        let any: ConnectTo = "::localhost:".parse().unwrap();
        assert!(any.fits("whatever", 1) && any.to_port.is_none());
        assert!("a:b:c:d".parse::<ConnectTo>().is_err());
    }
}
