//! The settings of a pool: connections, deadlines, trust, and knowledge from an earlier run.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use roundtrip_http::Tokens;
use roundtrip_model::{Clock, Memory, Origin, Strategy};
use roundtrip_net::{Bind, SystemClock};
use roundtrip_tls::{Client, Identity, Roots};

use super::OriginKnowledge;

/// The limit that browsers use.
const H1_CONNECTIONS: usize = 6;

#[derive(Clone)]
pub struct Settings {
    /// `reuse`: connections are kept; without it each request opens a new one. `resume` and `0rtt`:
    /// tickets are used, and requests that may be replayed leave in early data. `tfo` and the
    /// versions of HTTP and TLS have their usual meaning.
    pub strategy: Strategy,
    /// Requests are made one after another, even to different origins.
    pub serial: bool,
    /// The largest number of connections to an origin that speaks HTTP/1.1.
    pub h1_connections: usize,
    /// The largest number of connections to an origin that speaks HTTP/2 or 3. More than one
    /// circumvents the limit of streams that the server sets for a connection; use it only if the
    /// server is known to accept that.
    pub shared_connections: usize,
    /// Whether a QUIC connection without requests is opened when an answer over TCP announces
    /// HTTP/3. Its ticket lets a later run begin with early data over HTTP/3. No request and no
    /// [`super::Pool::close`] waits for it.
    pub seeks_tickets: bool,
    pub deadlines: Deadlines,
    pub roots: Roots,
    pub identity: Option<Identity>,
    /// A TLS client with tickets from elsewhere; if it is set, it is used in place of `roots` and
    /// `identity`.
    pub tls: Option<Arc<Client>>,
    /// A TLS client that shows a client certificate, and the only origin that receives it.
    pub own: Option<(Origin, Arc<Client>)>,
    /// QUIC address tokens from elsewhere.
    pub tokens: Tokens,
    pub overrides: Vec<Override>,
    /// Name servers in place of the system's.
    pub name_servers: Vec<SocketAddr>,
    pub family: Family,
    pub bind: Option<Bind>,
    pub known: Vec<OriginKnowledge>,
    pub clock: Arc<dyn Clock>,
}

/// The deadlines. None runs while a request waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// The time limit for the name lookup, TCP and TLS, or QUIC.
    pub connect: Duration,
    /// The time limit from the request to the first byte of its answer.
    pub first_byte: Duration,
    /// The time limit between two pieces of a body.
    pub idle: Duration,
    /// The time limit from the request to the end of its answer.
    pub total: Duration,
}

/// Addresses that replace those of the name servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    pub host: String,
    /// The port, or `None` for every port.
    pub port: Option<u16>,
    pub addresses: Vec<IpAddr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    #[default]
    Any,
    V4,
    V6,
}

impl Default for Settings {
    /// The fastest settings: connections are kept, tickets are used, and lookups leave in early
    /// data.
    fn default() -> Self {
        Self {
            strategy: Strategy {
                memory: Memory::EarlyData,
                reuse: true,
                ..Strategy::default()
            },
            serial: false,
            h1_connections: H1_CONNECTIONS,
            shared_connections: 1,
            seeks_tickets: false,
            deadlines: Deadlines::default(),
            roots: Roots::System,
            identity: None,
            tls: None,
            own: None,
            tokens: Tokens::default(),
            overrides: Vec::new(),
            name_servers: Vec::new(),
            family: Family::Any,
            bind: None,
            known: Vec::new(),
            clock: Arc::new(SystemClock::start()),
        }
    }
}

impl Settings {
    /// Keeps and stores nothing: each request opens a new connection, as in a client that runs
    /// once.
    #[must_use]
    pub fn without_reuse(mut self) -> Self {
        self.strategy.reuse = false;
        self.strategy.memory = Memory::Cold;
        self
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(30),
            idle: Duration::from_secs(15),
            total: Duration::from_mins(1),
        }
    }
}

impl Override {
    pub(super) fn fits(&self, host: &str, port: u16) -> bool {
        self.host.eq_ignore_ascii_case(host) && self.port.is_none_or(|p| p == port)
    }
}

impl Family {
    pub(super) fn admits(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }

    /// The family's name in "has no … address".
    pub fn shown(self) -> &'static str {
        match self {
            Self::Any => "IPv4 or IPv6",
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }
}
