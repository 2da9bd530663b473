//! The proxy that `-x` or the environment names.

use std::str::FromStr;

use roundtrip_model::{Scheme, Target, excerpt};

use super::error::OptionsError;

/// `-x [http[s]://][user:password@]host[:port]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy(pub Target);

impl FromStr for Proxy {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let short: String = excerpt(text, 80);
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
        assert!("socks5://localhost".parse::<Proxy>().is_err());
        assert!("http://".parse::<Proxy>().is_err());
    }
}
