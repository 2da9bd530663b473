//! The datagrams of one system call, and the addresses of a received datagram.

use std::net::{IpAddr, SocketAddr};

/// The addresses and the ECN mark of a received datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecvMeta {
    pub remote: SocketAddr,
    /// The address that the datagram was sent to, if the socket reports it.
    pub local: Option<IpAddr>,
    /// The two bits of explicit congestion notification. RFC 3168 §5.
    pub ecn: u8,
}

/// A burst: consecutive datagrams in the caller's buffer that can leave in one system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    pub to: SocketAddr,
    /// The address to send from, if one was chosen.
    pub from: Option<IpAddr>,
    pub ecn: u8,
    /// The length of each datagram, except the last, which may be shorter.
    pub segment: usize,
    /// The number of bytes in the buffer.
    pub length: usize,
}

impl Transmit {
    /// The number of datagrams in the burst.
    pub fn count(&self) -> usize {
        self.length.div_ceil(self.segment.max(1))
    }
}

/// ECT(0). RFC 3168 §5.
pub(crate) const ECT0: u8 = 0b10;
/// The largest number of bytes that one segmented send can carry: an IP datagram's length has 16
/// bits, and its headers and the UDP header take 48 bytes.
pub(crate) const MAX_BURST_BYTES: usize = 65_487;
/// The largest number of segments that Linux accepts in one send.
pub(crate) const MAX_SEGMENTS: usize = 64;
