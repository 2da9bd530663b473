//! Acknowledgements that a receiver may delay on purpose.

use crate::Exchange;

/// An acknowledgement that is late by up to this many milliseconds may have been delayed on purpose
/// (RFC 1122 §4.2.3.2); a longer delay also has another cause. Linux waits for 40 ms, and its
/// timers fire late.
pub const DELAYED_ACK: f64 = 60.0;
/// The shortest delay of an acknowledgement on Linux, less a tick, in milliseconds.
pub(super) const MIN_DELAYED_ACK: f64 = 36.0;

/// Whether an acknowledgement that was `late` was sent at once: a receiver acknowledges every
/// second segment at once (RFC 5681 §4.2).
pub(super) fn was_not_delayed(exchange: &Exchange, bytes: u64, late: f64) -> bool {
    bytes > exchange.segment() || !(MIN_DELAYED_ACK..=DELAYED_ACK).contains(&late)
}

impl Exchange {
    /// Whether the peer acknowledged the first request at once: a receiver does not delay the first
    /// acknowledgement of a connection (Linux: quick acknowledgements), and nothing came before it.
    pub fn is_acked_at_once(&self) -> bool {
        self.tcp.is_some() && self.quic.is_none() && self.tls.is_none() && !self.reused
    }
}
