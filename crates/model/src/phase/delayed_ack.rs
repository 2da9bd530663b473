//! Acknowledgements that a receiver may delay on purpose.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::ms;
use crate::{Event, Exchange, Moment};

/// An acknowledgement that is late by up to this many milliseconds may have been delayed on purpose
/// (RFC 1122 §4.2.3.2); a longer delay also has another cause. Linux waits for 40 ms, and its
/// timers fire late.
pub(super) const DELAYED_ACK: f64 = 60.0;
/// On a kept connection, Linux waits up to a round trip, but at most for this many milliseconds.
const MAX_DELAYED_ACK: f64 = 200.0;
const TIMER_SLACK: f64 = 20.0;
/// The shortest delay of an acknowledgement on Linux, less a tick, in milliseconds.
pub(super) const MIN_DELAYED_ACK: f64 = 36.0;
/// The same over QUIC, in milliseconds: `max_ack_delay` is 25 ms by default (RFC 9000 §18.2). A
/// client that measured too long a round trip cannot subtract what the peer says of it (RFC 9002
/// §5.3).
const MIN_QUIC_DELAYED_ACK: f64 = 22.0;
/// The delay of the first acknowledgement of a connection, if a program asks for it.
const FIRST_DELAYED_ACK: RangeInclusive<f64> = 38.0..=48.0;

impl Exchange {
    /// Whether an acknowledgement of a single segment that was `late` may have been delayed on
    /// purpose. A receiver does not delay the first one of a connection (Linux: quick
    /// acknowledgements) unless its program asks for it, as HAProxy does: then it takes just as
    /// long as the timer.
    pub fn may_have_delayed_ack(&self, late: f64) -> bool {
        let is_first = self.tcp.is_some() && self.tls.is_none() && !self.reused;
        if is_first && self.quic.is_none() {
            FIRST_DELAYED_ACK.contains(&late)
        } else {
            self.delayed_acks().contains(&late)
        }
    }

    /// How late acknowledgements are, in milliseconds, that were delayed on purpose.
    fn delayed_acks(&self) -> RangeInclusive<f64> {
        let adapted = match self.rtt.filter(|_| self.reused) {
            Some(rtt) => ms(rtt).min(MAX_DELAYED_ACK) + TIMER_SLACK,
            None => 0.0,
        };
        let least = match self.quic {
            Some(_) => MIN_QUIC_DELAYED_ACK,
            None => MIN_DELAYED_ACK,
        };
        least..=adapted.max(DELAYED_ACK)
    }
}

/// Whether an acknowledgement of that many bytes that was `late` shows how long the path took: a
/// receiver acknowledges every second segment at once (RFC 5681 §4.2).
pub(super) fn shows_the_path(exchange: &Exchange, bytes: u64, late: f64) -> bool {
    bytes > exchange.segment() || !exchange.delayed_acks().contains(&late)
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
