//! What the kernel and TLS tell about one wait: how much of it was a loss, and why a flight ended.

use super::ms;
use crate::{Event, Exchange, Moment};

/// In milliseconds: the kernel measures unacknowledged time in ticks, and its timers end on them.
const TICKS: f64 = 12.0;
/// In round trips: a sender that lost its last segments gets no acknowledgement, and waits for at
/// least two round trips (RFC 8985 §7.2) after the acknowledgement of the segments before. Shorter
/// silences come from a slow line.
const TAIL_TRIPS: f64 = 2.5;
const SHORTEST_TAIL: f64 = 100.0;
/// In segments: nine tenths of the initial window of RFC 6928. A sender that stops there was
/// stopped by the window.
const FULL_FIRST_WINDOW: u64 = 9;
const INITIAL_WINDOW: u64 = 10;
/// In segments: the window has grown a little during the handshake.
const LARGEST_FIRST_WINDOW: u64 = 16;
/// The share of full segments that data fills if each holds one record that fits it.
const DENSE: f64 = 0.97;

/// A paced flight lasts this share of a round trip; of segments that arrived too early, only the
/// last is known.
const SPREAD: f64 = 0.4;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Evidence {
    /// Something had to be retransmitted: how long it was unacknowledged, in milliseconds.
    unacked: Option<f64>,
    /// Something arrived before data that precedes it, and how long before, in milliseconds.
    overtaken: Option<f64>,
    /// Segments and bytes of the flight before the wait.
    flight: Option<(u64, u64)>,
    /// The flight ended in the middle of a record.
    cut: bool,
}

/// Why nothing more arrived for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The sender's window was full.
    Window,
    /// The next segments were lost, and a time-out retransmitted them.
    Timeout,
    /// The sender had sent more, and the line delivered it late.
    Line,
    /// The sender had nothing more to send.
    Sender,
}

impl Evidence {
    pub(super) fn hear(&mut self, event: &Event) {
        match event {
            Event::Resent { unacked, .. } => self.unacked = Some(ms(*unacked)),
            Event::Overtaken { late, .. } => self.overtaken = Some(ms(*late)),
            Event::Paused {
                segments, bytes, ..
            } => self.flight = Some((*segments, *bytes)),
            Event::CutOff => self.cut = true,
            _ => {}
        }
    }

    /// Everything between two moments, as if it belonged to one wait.
    pub(super) fn between(exchange: &Exchange, start: Moment, end: Moment) -> Self {
        let mut evidence = Self::default();
        for (at, event) in exchange.timeline.iter() {
            if *at > start && *at <= end {
                evidence.hear(event);
            }
        }
        evidence
    }

    /// The part of `rest`, the excess length of a wait, that was due to a loss.
    pub(super) fn loss(&self, rest: f64, rtt: f64) -> f64 {
        // Rounding can make a difference negative.
        let rest = rest.max(0.0);
        let theirs = self.overtaken.map_or(0.0, |late| {
            let whole = rest - late <= SPREAD * rtt;
            if whole { rest } else { late }
        });
        let left = rest - theirs;
        let ours = self.unacked.map_or(0.0, |unacked| {
            let late = (unacked - rtt).min(left).max(0.0);
            if left - late < TICKS { left } else { late }
        });
        theirs + ours
    }

    /// Why the flight ended before a silence of `gap`; the flight before it had `before` segments.
    pub(super) fn stop(
        &self,
        exchange: &Exchange,
        gap: f64,
        rtt: f64,
        before: Option<u64>,
    ) -> Stop {
        let (segments, bytes) = self.flight.unwrap_or_default();
        let full = exchange
            .tcp
            .as_ref()
            .map_or(1200, |tcp| u64::from(tcp.mss).max(500))
            * segments;
        let secured = exchange.tls.is_some();
        let broken = if secured {
            self.cut
        } else {
            segments > 0 && bytes == full
        };
        let grown = match before {
            None => segments <= LARGEST_FIRST_WINDOW,
            Some(before) => 2 * segments >= 3 * before,
        };
        let like_a_window = broken
            || (secured && grown && bytes as f64 >= DENSE * full as f64)
            // The head of the answer may have been sent separately.
            || (!secured && before.is_none() && segments == INITIAL_WINDOW);
        if segments >= FULL_FIRST_WINDOW && like_a_window && gap <= 2.5 * rtt {
            Stop::Window
        } else if broken && gap >= SHORTEST_TAIL.max(TAIL_TRIPS * rtt) {
            Stop::Timeout
        } else if broken {
            Stop::Line
        } else {
            Stop::Sender
        }
    }

    pub(super) fn segments(&self) -> Option<u64> {
        self.flight.map(|(segments, _)| segments)
    }
}
