//! A server as the configuration writes it: `http://host:port` or `https://host:port`.

use std::net::{IpAddr, SocketAddr};

use roundtrip_wire::dns::Name;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) secure: bool,
    pub(super) host: Host,
    pub(super) port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    Ip(IpAddr),
    Name(String),
}

impl Address {
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = text
            .split_once("://")
            .ok_or("write it like http://host:port or https://host:port")?;
        let secure = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err("only http:// and https:// are spoken to servers"),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#', '@']) {
            return Err("a server has a host and a port; paths are for routes");
        }
        let (host, port) = split(authority)?;
        let port = match port {
            None if secure => 443,
            None => 80,
            Some(port) => port
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or("its port is not a number from 1 to 65535")?,
        };
        let host = match host.parse() {
            Ok(ip) => Host::Ip(ip),
            Err(_) if host.parse::<Name>().is_ok_and(|_| is_name(host)) => {
                Host::Name(host.to_ascii_lowercase())
            }
            Err(_) => return Err("its host is neither an address nor a name"),
        };
        Ok(Self { secure, host, port })
    }

    /// For the `Host` field. RFC 9110 §7.2.
    pub(super) fn authority(&self) -> String {
        match &self.host {
            Host::Ip(ip) => SocketAddr::new(*ip, self.port).to_string(),
            Host::Name(name) => format!("{name}:{}", self.port),
        }
    }

    /// As TLS knows it: without brackets.
    pub(super) fn name(&self) -> String {
        match &self.host {
            Host::Ip(ip) => ip.to_string(),
            Host::Name(name) => name.clone(),
        }
    }
}

fn split(authority: &str) -> Result<(&str, Option<&str>), &'static str> {
    let (host, after) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or("its bracket is not closed")?;
            if host.parse::<std::net::Ipv6Addr>().is_err() {
                return Err("brackets are for IPv6 addresses");
            }
            (host, after)
        }
        None => {
            let end = authority.find(':').unwrap_or(authority.len());
            authority.split_at(end)
        }
    };
    match after.strip_prefix(':') {
        Some(port) => Ok((host, Some(port))),
        None if after.is_empty() => Ok((host, None)),
        None => Err("write it like http://host:port or https://host:port"),
    }
}

/// What looks like a wrong address is no name.
fn is_name(host: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    host.chars().all(letter) && host.chars().any(|c| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read() {
        for (text, secure, authority) in [
            ("http://127.0.0.1:8080", false, "127.0.0.1:8080"),
            ("http://Backend.example/", false, "backend.example:80"),
            ("https://[::1]", true, "[::1]:443"),
            ("https://a_b:8443", true, "a_b:8443"),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.secure, secure, "{text}");
            assert_eq!(address.authority(), authority);
        }
        for bad in [
            "",
            "backend:80",
            "ftp://a",
            "http://",
            "http://a:0",
            "http://a:70000",
            "http://a:x",
            "http://a/b",
            "http://u@a",
            "http://[::1",
            "http://[a]:1",
            "http://::1",
            "http://1.2.3",
            "http://a b",
            "http://a..b",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }
}
