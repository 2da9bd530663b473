//! What a pool is told once: how to ask, how long to wait, whom to trust, and what is known from another day.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use roundtrip_http::Tokens;
use roundtrip_model::{Clock, Memory, Origin, Strategy};
use roundtrip_net::{Bind, SystemClock};
use roundtrip_tls::{Client, Identity, Roots};

use super::OriginKnowledge;

/// As many as browsers take.
const H1_CONNECTIONS: usize = 6;

pub struct Settings {
    /// `reuse`: connections are kept; without it each ask opens one of its own. `resume` and `0rtt`: tickets are shown,
    /// and asks that may be repeated leave with them. `tfo`, the version of HTTP and that of TLS as everywhere.
    pub strategy: Strategy,
    /// One ask after another, whatever the origin.
    pub serial: bool,
    /// Connections to one origin that speaks HTTP/1.1.
    pub h1_connections: usize,
    /// Connections to one origin that speaks HTTP/2 or 3. More than one carries more at once than the server allows on
    /// one: for those whom it has told, or who know, that it does not mind.
    pub shared_connections: usize,
    pub deadlines: Deadlines,
    pub roots: Roots,
    pub identity: Option<Identity>,
    /// Tickets that were kept elsewhere; then `roots` and `identity` are that client's business.
    pub tls: Option<Arc<Client>>,
    /// One that shows a certificate of ours, and the only origin that is to see it.
    pub own: Option<(Origin, Arc<Client>)>,
    /// QUIC address tokens that were kept elsewhere.
    pub tokens: Tokens,
    pub overrides: Vec<Override>,
    /// Instead of the system's.
    pub name_servers: Vec<SocketAddr>,
    pub family: Family,
    pub bind: Option<Bind>,
    pub known: Vec<OriginKnowledge>,
    pub clock: Arc<dyn Clock>,
}

/// How long is waited for what. None of them runs while an ask waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// The name, TCP and TLS, or QUIC.
    pub connect: Duration,
    /// From the request to the first byte of its answer.
    pub first_byte: Duration,
    /// Between two pieces of a body.
    pub idle: Duration,
    /// From the request to the end of its answer.
    pub total: Duration,
}

/// These addresses, whatever name servers say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    pub host: String,
    /// Any port, where there is none.
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
    /// The fastest way there is: connections kept, tickets shown, lookups in early data.
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
    /// Nothing is kept and nothing remembered: a new connection for each ask, as a client makes that runs once.
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

    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::Any => "IPv4 or IPv6",
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }
}
