//! The proxy that `-x` or the environment names.

use std::str::FromStr;

use roundtrip_model::{Scheme, Target, excerpt, mask_url};

use super::error::OptionsError;

/// `-x [http[s]://][user:password@]host[:port]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy(pub Target);

impl Proxy {
    /// Uses the port of the scheme if the URL has none, as most clients except curl do.
    #[must_use]
    pub fn with_port_of_scheme(mut self) -> Self {
        let url = self.0.url();
        self.0.port = url.port_or_known_default().unwrap_or(self.0.port);
        self
    }
}

impl FromStr for Proxy {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let short = excerpt(&mask_url(text), 80);
        if text.contains("://") && !text.starts_with("http://") && !text.starts_with("https://") {
            return Err(OptionsError::ProxyScheme(short));
        }
        // curl's default port for a proxy is 1080, which no URL knows.
        let full = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        let mut target = Target::parse(&full).map_err(|e| OptionsError::Proxy(short.clone(), e))?;
        if target.scheme == Scheme::Tcp {
            return Err(OptionsError::ProxyScheme(short));
        }
        let authority = full.split("://").nth(1).unwrap_or_default();
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        let named = authority.rsplit('@').next().unwrap_or_default();
        let has_port = named.rsplit(']').next().unwrap_or_default().contains(':');
        if !has_port {
            target.port = 1080;
        }
        Ok(Self(target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_default_to_port_1080() {
        assert_eq!("localhost".parse::<Proxy>().unwrap().0.port, 1080);
        assert_eq!(
            "http://u:p@localhost:80/".parse::<Proxy>().unwrap().0.port,
            80
        );
        assert_eq!("http://[::1]".parse::<Proxy>().unwrap().0.port, 1080);
        for (url, port) in [
            ("http://h", 80),
            ("https://h", 443),
            ("h:1", 1),
            ("h:80", 80),
        ] {
            let proxy: Proxy = url.parse().unwrap();
            assert_eq!(proxy.with_port_of_scheme().0.port, port, "{url}");
        }
        assert!("socks5://localhost".parse::<Proxy>().is_err());
        assert!("http://".parse::<Proxy>().is_err());
        for wrong in ["socks5://u:pa55@h", "http://u:pa55@a b"] {
            let said = wrong.parse::<Proxy>().unwrap_err().to_string();
            assert!(!said.contains("pa55"), "{said}");
        }
    }
}
