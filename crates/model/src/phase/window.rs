//! The number of bytes that a sender may send before any of them is acknowledged.

use crate::Exchange;

/// The window of a new connection, in segments. RFC 6928 §2.
pub const INITIAL_WINDOW: u64 = 10;
/// The smallest TCP segment and the smallest QUIC datagram (RFC 9000 §14), in bytes.
const MIN_SEGMENT: u64 = 500;
const QUIC_SEGMENT: u64 = 1200;

impl Exchange {
    /// The largest segment in bytes; a cautious guess if the kernel did not report it.
    pub fn segment(&self) -> u64 {
        self.tcp
            .as_ref()
            .map_or(QUIC_SEGMENT, |tcp| u64::from(tcp.mss).max(MIN_SEGMENT))
    }

    /// The server's first window in segments. It is one segment if a SYN or SYN-ACK was lost (RFC
    /// 5681 §3.1).
    pub(super) fn first_window(&self) -> u64 {
        let again = self.tcp.as_ref().is_some_and(|t| t.syn_retransmits > 0);
        if again && !self.reused {
            1
        } else {
            INITIAL_WINDOW
        }
    }
}
