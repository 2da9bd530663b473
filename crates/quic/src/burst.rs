//! What leaves in one system call, and the way datagrams came.

use std::net::{IpAddr, SocketAddr};

/// The way a datagram came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    pub remote: SocketAddr,
    /// The address that it was sent to, where the socket tells.
    pub local: Option<IpAddr>,
    /// The two bits of explicit congestion notification. RFC 3168 §5.
    pub ecn: u8,
}

/// A burst: datagrams side by side in the caller's buffer, that can leave in one system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    pub to: SocketAddr,
    /// The address to send from, where one was chosen.
    pub from: Option<IpAddr>,
    pub ecn: u8,
    /// How long each datagram is, but for the last, which may be shorter.
    pub segment: usize,
    /// How much of the buffer is filled.
    pub length: usize,
}

impl Transmit {
    /// How many datagrams the burst has.
    pub fn count(&self) -> usize {
        self.length.div_ceil(self.segment.max(1))
    }
}

/// ECT(0). RFC 3168 §5.
pub(crate) const ECT0: u8 = 0b10;
/// What one segmented send can carry: an IP datagram's length has 16 bits, its headers and the UDP
/// header take 48.
pub(crate) const MAX_BURST_BYTES: usize = 65_487;
/// Linux takes no more segments in one send.
pub(crate) const MAX_SEGMENTS: usize = 64;
