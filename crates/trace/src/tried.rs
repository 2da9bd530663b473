//! Earlier attempts to connect, which may lead to a connection to another address.

use std::net::{IpAddr, SocketAddr};

use crate::names::is_same_host;

/// The age, in nanoseconds, beyond which an earlier attempt is unrelated.
pub(crate) const SAME_STORY: u64 = 10_000_000_000;

/// An address that was tried before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tried {
    pub(crate) peer: SocketAddr,
    pub(crate) began: u64,
    /// When the attempt was refused.
    pub(crate) refused: Option<u64>,
}

impl Tried {
    /// Whether the attempt led to a connection that began at `at`.
    pub(crate) fn leads_to(&self, from: (IpAddr, IpAddr), server: SocketAddr, at: u64) -> bool {
        is_same_host(from.0, from.1)
            && self.peer.port() == server.port()
            && self.peer.ip() != server.ip()
            && (self.began..self.began.saturating_add(SAME_STORY)).contains(&at)
    }
}
