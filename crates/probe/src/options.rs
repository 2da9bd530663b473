//! The options of a prober, in one value. The command line fills it; nothing below looks at flags.

mod environment;
mod error;
mod overrides;
mod proxy;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use roundtrip_model::{Scheme, Strategy, Target, TraceContext};
use roundtrip_net::Bind;
use roundtrip_tls::{Identity, Roots};

use crate::plan::{Announced, ConnectionPlan};
pub use environment::{Environment, Exceptions};
pub use error::OptionsError;
pub use overrides::{ConnectTo, Override};
pub use proxy::Proxy;

#[derive(Debug, Clone)]
pub struct Options {
    pub strategy: Strategy,
    /// Measure even the first exchange that a warm strategy needs to become warm.
    pub cold: bool,
    /// Use the protocol of the first exchange with an origin again, even if its answer announced
    /// another: the exchanges of a series must be comparable.
    pub keeps_way: bool,
    pub method: Option<String>,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    pub user: Option<(String, String)>,
    pub user_agent: String,
    pub compressed: bool,
    pub follow: bool,
    pub max_redirects: u32,
    /// Send the cookies that an answer sets with the requests that it leads to.
    pub cookies: bool,
    /// Let HTTPS records and `Alt-Svc` change the protocol to HTTP/3.
    pub announcements: bool,
    pub family: Family,
    pub overrides: Vec<Override>,
    pub connect_to: Vec<ConnectTo>,
    pub doh: Option<Target>,
    /// The name servers to use instead of the system's.
    pub name_servers: Vec<SocketAddr>,
    pub bind: Option<Bind>,
    pub unix_socket: Option<PathBuf>,
    pub proxy: Option<Proxy>,
    /// Further header fields of CONNECT, for the proxy alone.
    pub connect_headers: Vec<(String, String)>,
    /// The proxies that environment variables name; none by default.
    pub environment: Environment,
    /// `--noproxy`: connect directly to these hosts, even if the two fields above name a proxy.
    pub unproxied: Exceptions,
    pub roots: Roots,
    /// Accept chains of certificates that this process verified a short time ago.
    pub remembers_chains: bool,
    pub identity: Option<Identity>,
    pub connect_timeout: Duration,
    /// The time limit of one exchange; each redirect is an exchange.
    pub max_time: Duration,
    /// When everything that the prober does must be finished, including all redirects and the
    /// unmeasured request.
    pub deadline: Option<Instant>,
    /// The trace that requests belong to: each exchange passes its own span on in `traceparent`.
    pub trace: Option<TraceContext>,
    /// For experiments: the time that a slow TLS library computes before its ClientHello (over
    /// TCP). It counts as time of the client.
    pub hello_delay: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            cold: false,
            keeps_way: false,
            method: None,
            headers: Vec::new(),
            body: Bytes::new(),
            user: None,
            user_agent: concat!("roundtrip/", env!("CARGO_PKG_VERSION")).into(),
            compressed: false,
            follow: false,
            max_redirects: 20,
            cookies: false,
            announcements: true,
            family: Family::Any,
            overrides: Vec::new(),
            connect_to: Vec::new(),
            doh: None,
            name_servers: Vec::new(),
            bind: None,
            unix_socket: None,
            proxy: None,
            connect_headers: Vec::new(),
            environment: Environment::default(),
            unproxied: Exceptions::default(),
            roots: Roots::System,
            remembers_chains: false,
            identity: None,
            connect_timeout: Duration::from_secs(15),
            max_time: Duration::from_mins(1),
            deadline: None,
            trace: None,
            hello_delay: Duration::ZERO,
        }
    }
}

impl Options {
    /// Checks that the request can be sent, before anything is sent.
    pub fn check(&self) -> Result<(), OptionsError> {
        let agent = ("User-Agent".to_owned(), self.user_agent.clone());
        let headers: Vec<_> = self.headers.iter().cloned().chain([agent]).collect();
        let method = self.method.as_deref().unwrap_or("GET");
        Ok(roundtrip_http::check_sendable(method, &headers)?)
    }

    /// Checks that the strategy does not contradict the URL.
    pub fn check_for(&self, target: &Target) -> Result<(), OptionsError> {
        let proxied = self.proxy_for(target).is_some();
        ConnectionPlan::new(self.strategy, target, Announced::default(), proxied, true)
            .map(drop)
            .map_err(|error| OptionsError::Strategy(Box::new(error)))
    }

    /// Returns the proxy for a target, from the option or from the environment.
    pub fn proxy_for(&self, target: &Target) -> Option<&Proxy> {
        let excepted = self.unproxied.contains(&target.host_name());
        if excepted || target.scheme == Scheme::Tcp {
            return None;
        }
        let environment = || Some(self.proxy_by_environment(target)?.1);
        self.proxy.as_ref().or_else(environment)
    }

    /// Returns the environment's proxy, and the variable that names it, unless an option overrides
    /// it.
    pub(crate) fn proxy_by_environment(&self, target: &Target) -> Option<(&'static str, &Proxy)> {
        let said = self.proxy.is_some() || self.unix_socket.is_some();
        if said || self.unproxied.contains(&target.host_name()) {
            return None;
        }
        self.environment.proxy_for(target)
    }

    /// Returns the time limit of an exchange that begins now.
    pub(crate) fn time_left(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.max_time.min(self.deadline.map_or(Duration::MAX, left))
    }

    /// Returns the host and port to connect to. `--connect-to` and the proxy change these, and
    /// never the request.
    pub(crate) fn destination(&self, target: &Target) -> Destination {
        if let Some(proxy) = self.proxy_for(target) {
            return Destination {
                host: proxy.0.host_name(),
                port: proxy.0.port,
            };
        }
        let (host, port) = (target.host_name(), target.port);
        match self.connect_to.iter().find(|c| c.fits(&host, port)) {
            Some(c) => Destination {
                host: c.to_host.clone().unwrap_or(host),
                port: c.to_port.unwrap_or(port),
            },
            None => Destination { host, port },
        }
    }
}

/// The host and port to connect to, which are not always those of the URL.
pub(crate) struct Destination {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Which addresses of a name to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    #[default]
    Any,
    V4,
    V6,
    /// One address alone: IPv4 if `v4` is set, otherwise IPv6. `falls_back` allows the other family
    /// if the name has no address of this one.
    One {
        v4: bool,
        falls_back: bool,
    },
}

impl Family {
    pub(crate) fn admits(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
            Self::One { v4, falls_back } => falls_back || address.is_ipv4() == v4,
        }
    }

    /// Keeps the addresses to use.
    pub(crate) fn choose(self, addresses: &mut Vec<IpAddr>) {
        addresses.retain(|address| self.admits(*address));
        if let Self::One { v4, .. } = self {
            let preferred = addresses.iter().find(|address| address.is_ipv4() == v4);
            let one = preferred.or(addresses.first()).copied();
            *addresses = one.into_iter().collect();
        }
    }
}
