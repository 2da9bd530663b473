//! A server as the configuration writes it: `http://host:port` or `https://host:port`.

use std::net::{IpAddr, SocketAddr};

use url::Url;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerAddress {
    pub(super) secure: bool,
    pub(super) host: Host,
    pub(super) port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    Ip(IpAddr),
    Name(String),
}

impl ServerAddress {
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let url =
            Url::parse(text).map_err(|_| "it is not a URL; write it like http://host:port")?;
        let secure = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err("only http:// and https:// are supported"),
        };
        let login = !url.username().is_empty() || url.password().is_some();
        let more = url.path() != "/" || url.query().is_some() || url.fragment().is_some();
        if login || more {
            return Err("a server must have a host and a port, and nothing else");
        }
        let host = match url.host() {
            Some(url::Host::Ipv4(ip)) => Host::Ip(ip.into()),
            Some(url::Host::Ipv6(ip)) => Host::Ip(ip.into()),
            Some(url::Host::Domain(name)) => Host::Name(name.to_owned()),
            None => return Err("it has no host"),
        };
        let port = url.port_or_known_default().filter(|port| *port > 0);
        let port = port.ok_or("its port is not a number from 1 to 65535")?;
        Ok(Self { secure, host, port })
    }

    /// The value of the `Host` field. RFC 9110 §7.2.
    pub(super) fn authority(&self) -> String {
        match &self.host {
            Host::Ip(ip) => SocketAddr::new(*ip, self.port).to_string(),
            Host::Name(name) => format!("{name}:{}", self.port),
        }
    }

    /// The host's name for TLS: without brackets.
    pub(super) fn name(&self) -> String {
        match &self.host {
            Host::Ip(ip) => ip.to_string(),
            Host::Name(name) => name.clone(),
        }
    }
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
            let address = ServerAddress::parse(text).unwrap();
            assert_eq!(address.secure, secure, "{text}");
            assert_eq!(address.authority(), authority);
        }
        for bad in [
            "",
            "backend:80",
            "http://a?b",
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
            "http://a b",
        ] {
            assert!(ServerAddress::parse(bad).is_err(), "{bad}");
        }
    }
}
