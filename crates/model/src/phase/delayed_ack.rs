//! Acknowledgements that a receiver may delay on purpose.

use std::time::Duration;

use crate::{Event, Exchange, Moment};

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

/// An acknowledgement and data that arrive this close together came in one segment.
pub(super) const TOGETHER: Duration = Duration::from_micros(200);

/// The times at which data arrived: an acknowledgement that came with data may have waited for it.
pub(super) struct Arrivals(Vec<Moment>);

impl Arrivals {
    pub(super) fn from_exchange(exchange: &Exchange) -> Self {
        let events = exchange.timeline.iter();
        let received = events.filter(|(_, e)| matches!(e, Event::Received { .. }));
        Self(received.map(|(at, _)| *at).collect())
    }

    /// Whether the acknowledgement that arrived at this moment came without data.
    pub(super) fn is_alone(&self, at: Moment) -> bool {
        let next = self.0.partition_point(|arrival| *arrival < at - TOGETHER);
        self.0
            .get(next)
            .is_none_or(|arrival| *arrival > at + TOGETHER)
    }
}

impl Exchange {
    /// Whether the peer acknowledged the first request at once: a receiver does not delay the first
    /// acknowledgement of a connection (Linux: quick acknowledgements), and this was the first.
    pub fn is_acked_at_once(&self) -> bool {
        self.tcp.is_some() && self.quic.is_none() && self.tls.is_none() && !self.reused
    }
}
