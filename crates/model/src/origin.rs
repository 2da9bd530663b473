//! The server that a URL belongs to. Connections, credentials and cookies are kept per origin. RFC
//! 6454 §4.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    Http,
    Https,
    /// A bare connection for the fast-open echo.
    Tcp,
}

impl Scheme {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Tcp => "tcp",
        }
    }

    pub(crate) fn default_port(self) -> Option<u16> {
        match self {
            Self::Http => Some(80),
            Self::Https => Some(443),
            Self::Tcp => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    pub scheme: Scheme,
    /// The host in the form for name servers, without brackets.
    pub host: String,
    pub port: u16,
}

impl Origin {
    pub fn is_secure(&self) -> bool {
        self.scheme == Scheme::Https
    }
}

impl fmt::Display for Origin {
    /// The serialization of RFC 6454 §6.2: the scheme's default port is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, host) = (self.scheme.as_str(), &self.host);
        if host.contains(':') {
            write!(f, "{scheme}://[{host}]")?;
        } else {
            write!(f, "{scheme}://{host}")?;
        }
        if Some(self.port) == self.scheme.default_port() {
            return Ok(());
        }
        write!(f, ":{}", self.port)
    }
}

#[cfg(test)]
mod tests {
    use crate::Target;

    #[test]
    fn default_ports_are_left_out() {
        for (url, origin) in [
            ("https://user:secret@a.example/x?y", "https://a.example"),
            ("https://a.example:8443/", "https://a.example:8443"),
            ("http://a.example:443/", "http://a.example:443"),
            ("http://[::1]/", "http://[::1]"),
            ("tcp://[::1]:7", "tcp://[::1]:7"),
        ] {
            assert_eq!(Target::parse(url).unwrap().origin().to_string(), origin);
        }
    }
}
