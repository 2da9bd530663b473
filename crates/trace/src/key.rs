//! The key that distinguishes the connections of a capture.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// Both ends of a connection, as one interface sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowKey {
    pub(crate) interface: u32,
    is_udp: bool,
    /// The ends in sorted order, so that both directions have the same key.
    ends: (SocketAddr, SocketAddr),
}

impl FlowKey {
    pub(crate) fn new(interface: u32, is_udp: bool, from: SocketAddr, to: SocketAddr) -> Self {
        Self {
            interface,
            is_udp,
            ends: (from.min(to), from.max(to)),
        }
    }

    /// The key of the same connection on another interface.
    pub(crate) fn at(self, interface: u32) -> Self {
        Self { interface, ..self }
    }
}

/// Hashes few and short pieces, because every packet is looked up.
impl Hash for FlowKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (low, high) = self.ends;
        let ports = u64::from(low.port()) << 48 | u64::from(high.port()) << 32;
        state.write_u64(ports | u64::from(self.interface) << 1 | u64::from(self.is_udp));
        match (low.ip(), high.ip()) {
            (IpAddr::V4(low), IpAddr::V4(high)) => {
                state.write_u64(u64::from(low.to_bits()) << 32 | u64::from(high.to_bits()));
            }
            (low, high) => (low, high).hash(state),
        }
    }
}
