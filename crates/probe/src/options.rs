//! What the user meant, in one value. The command line fills it; nothing below looks at flags.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use roundtrip_model::{Scheme, Strategy, Target, TargetError};
use roundtrip_net::Bind;
use roundtrip_tls::{Identity, Roots};

use crate::ProbeError;
use crate::environment::{Environment, Exceptions};
use crate::plan::{Announced, Plan};

#[derive(Debug, Clone)]
pub struct Options {
    pub strategy: Strategy,
    /// Measure even the first exchange that a warm strategy needs to become warm.
    pub cold: bool,
    pub method: Option<String>,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    pub user: Option<(String, String)>,
    pub user_agent: String,
    pub compressed: bool,
    pub follow: bool,
    pub max_redirects: u32,
    pub family: Family,
    pub overrides: Vec<Override>,
    pub connect_to: Vec<ConnectTo>,
    pub doh: Option<Target>,
    /// Ask these instead of the system's name servers.
    pub name_servers: Vec<SocketAddr>,
    pub bind: Option<Bind>,
    pub unix_socket: Option<PathBuf>,
    pub proxy: Option<Proxy>,
    /// What the environment says of proxies; by default, nothing is read of it.
    pub environment: Environment,
    /// `--noproxy`: asked directly, whatever the two above say.
    pub unproxied: Exceptions,
    pub roots: Roots,
    pub identity: Option<Identity>,
    pub connect_timeout: Duration,
    pub max_time: Duration,
    /// What a slow TLS library computes before its ClientHello (over TCP), for experiments; its wait is the client's.
    pub hello_delay: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            cold: false,
            method: None,
            headers: Vec::new(),
            body: Bytes::new(),
            user: None,
            user_agent: concat!("roundtrip/", env!("CARGO_PKG_VERSION")).into(),
            compressed: false,
            follow: false,
            max_redirects: 20,
            family: Family::Any,
            overrides: Vec::new(),
            connect_to: Vec::new(),
            doh: None,
            name_servers: Vec::new(),
            bind: None,
            unix_socket: None,
            proxy: None,
            environment: Environment::default(),
            unproxied: Exceptions::default(),
            roots: Roots::System,
            identity: None,
            connect_timeout: Duration::from_secs(15),
            max_time: Duration::from_mins(1),
            hello_delay: Duration::ZERO,
        }
    }
}

impl Options {
    /// What cannot be sent is known before anything is.
    pub fn check(&self) -> Result<(), OptionsError> {
        let agent = ("User-Agent".to_owned(), self.user_agent.clone());
        let headers: Vec<_> = self.headers.iter().cloned().chain([agent]).collect();
        let method = self.method.as_deref().unwrap_or("GET");
        Ok(roundtrip_http::check_sendable(method, &headers)?)
    }

    /// A strategy that contradicts the URL needs no request to be found out.
    pub fn check_for(&self, target: &Target) -> Result<(), OptionsError> {
        let proxied = self.proxy_for(target).is_some();
        Plan::new(self.strategy, target, Announced::default(), proxied, true)
            .map(drop)
            .map_err(|error| OptionsError::Strategy(Box::new(error)))
    }

    /// The proxy that a target is asked through: the one that was named, or the environment's.
    pub fn proxy_for(&self, target: &Target) -> Option<&Proxy> {
        let excepted = self.unproxied.contains(&target.host_name());
        if excepted || target.scheme == Scheme::Tcp {
            return None;
        }
        let environment = || Some(self.proxy_by_environment(target)?.1);
        self.proxy.as_ref().or_else(environment)
    }

    /// The same, with the variable that names it, where nothing more particular was said.
    pub(crate) fn proxy_by_environment(&self, target: &Target) -> Option<(&'static str, &Proxy)> {
        let said = self.proxy.is_some() || self.unix_socket.is_some();
        if said || self.unproxied.contains(&target.host_name()) {
            return None;
        }
        self.environment.proxy_for(target)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    #[default]
    Any,
    V4,
    V6,
}

impl Family {
    pub(crate) fn admits(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

/// `--resolve HOST:PORT:ADDR[,ADDR]…`: these addresses, whatever name servers say. `*` stands for any host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    pub host: String,
    pub port: u16,
    pub addresses: Vec<IpAddr>,
}

/// `--connect-to HOST1:PORT1:HOST2:PORT2`: connect elsewhere, ask for the same. An empty part means any, or the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectTo {
    pub from_host: Option<String>,
    pub from_port: Option<u16>,
    pub to_host: Option<String>,
    pub to_port: Option<u16>,
}

/// `-x [http[s]://][user:password@]host[:port]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy(pub Target);

#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    #[error("'{0}' is not HOST:PORT:ADDRESS[,ADDRESS]…, as in example.com:443:127.0.0.1")]
    Override(String),
    #[error("'{0}' is not HOST1:PORT1:HOST2:PORT2, as in example.com:443:localhost:8443")]
    ConnectTo(String),
    #[error("'{0}' is no proxy: {1}")]
    Proxy(String, TargetError),
    #[error(transparent)]
    Request(#[from] roundtrip_http::HttpError),
    #[error("{0}: {1}; --noproxy '*' asks without it")]
    Environment(&'static str, #[source] Box<OptionsError>),
    #[error(transparent)]
    Strategy(Box<ProbeError>),
    #[error("'{0}' is no proxy: only http:// and https:// proxies are supported")]
    ProxyScheme(String),
}

impl FromStr for Override {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let bad = || OptionsError::Override(text.chars().take(80).collect());
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
        let bad = || OptionsError::ConnectTo(text.chars().take(80).collect());
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

/// A host, bracketed where it is an IPv6 address, and what follows its colon.
fn split_host(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            Some((host, rest.strip_prefix(':')?))
        }
        None => text.split_once(':'),
    }
}

impl FromStr for Proxy {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let short: String = text.chars().take(80).collect();
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
