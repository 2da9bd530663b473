//! What a sender may send before anything of it is acknowledged.

use crate::Exchange;

/// In segments. RFC 6928 §2.
pub const INITIAL_WINDOW: u64 = 10;
/// In bytes: what a segment of TCP holds at least, and a datagram of QUIC (RFC 9000 §14).
const SMALLEST_SEGMENT: u64 = 500;
const QUIC_SEGMENT: u64 = 1200;

impl Exchange {
    /// The largest segment in bytes; a cautious guess if the kernel did not tell.
    pub fn segment(&self) -> u64 {
        self.tcp
            .as_ref()
            .map_or(QUIC_SEGMENT, |tcp| u64::from(tcp.mss).max(SMALLEST_SEGMENT))
    }

    /// In segments: the server's first window. After a SYN or SYN-ACK was lost it is one (RFC 5681
    /// §3.1).
    pub(super) fn first_window(&self) -> u64 {
        let again = self.tcp.as_ref().is_some_and(|t| t.syn_retransmits > 0);
        if again && !self.reused {
            1
        } else {
            INITIAL_WINDOW
        }
    }
}
