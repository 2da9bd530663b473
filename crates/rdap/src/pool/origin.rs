//! An origin: what connections are kept for. RFC 6454 §4.

use std::fmt;

use roundtrip_model::{Scheme, Target};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    pub scheme: Scheme,
    /// As a name server knows it: no brackets.
    pub host: String,
    pub port: u16,
}

impl Origin {
    pub fn of(target: &Target) -> Self {
        Self {
            scheme: target.scheme,
            host: target.host_name(),
            port: target.port,
        }
    }

    pub fn is_secure(&self) -> bool {
        self.scheme == Scheme::Https
    }
}

impl fmt::Display for Origin {
    /// As `Origin:` would have it, the port always there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme.as_str();
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}
