//! What the kernel and TLS said about one wait: how much of it was a loss, and why a flight had ended.

use super::ms;
use crate::{Event, Exchange, Moment};

/// The kernel counts unacknowledged time in ticks, and its timers end on them.
const TICKS: f64 = 12.0;
/// A sender whose last segments were lost hears of nothing, and waits for two round trips at least (RFC 8985 §7.2) when
/// the acknowledgement of what came before them is there. Shorter silences are a slow line's.
const TAIL_TRIPS: f64 = 2.5;
const SHORTEST_TAIL: f64 = 100.0;
/// Nine tenths of the initial window of RFC 6928, in segments: a sender that stops there stopped for the window.
const FULL_FIRST_WINDOW: u64 = 9;
const INITIAL_WINDOW: u64 = 10;
/// It has grown a little by the handshake.
const LARGEST_FIRST_WINDOW: u64 = 16;
/// Of what full segments hold, where each holds a record that fits it.
const DENSE: f64 = 0.97;

/// A flight that keeps a pace lasts this share of a round trip, and of what came too early only the last is known.
const SPREAD: f64 = 0.4;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Evidence {
    /// What was sent had to be sent again: for how long it was not acknowledged.
    unacked: Option<f64>,
    /// Something came before what it follows, and by how much.
    overtaken: Option<f64>,
    /// Segments and bytes of the flight before the wait.
    flight: Option<(u64, u64)>,
    /// It ended in the middle of a record.
    cut: bool,
}

/// Why nothing more came for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The sender's window was full.
    Window,
    /// What came next had been lost, and a time-out sent it again.
    Timeout,
    /// The sender had more, and the line brought it late.
    Line,
    /// The sender had no more.
    Sender,
}

impl Evidence {
    pub(super) fn hear(&mut self, event: &Event) {
        match event {
            Event::Resent { unacked, .. } => self.unacked = Some(ms(*unacked)),
            Event::Overtaken { late, .. } => self.overtaken = Some(ms(*late)),
            Event::Paused { segments, bytes } => self.flight = Some((*segments, *bytes)),
            Event::CutOff => self.cut = true,
            _ => {}
        }
    }

    /// All that was said between two moments, as if it were of one wait.
    pub(super) fn between(exchange: &Exchange, start: Moment, end: Moment) -> Self {
        let mut evidence = Self::default();
        for (at, event) in exchange.timeline.iter() {
            if *at > start && *at <= end {
                evidence.hear(event);
            }
        }
        evidence
    }

    /// How much of `rest`, by which a wait was longer than it had to be, was a loss's.
    pub(super) fn loss(&self, rest: f64, rtt: f64) -> f64 {
        // A difference may be less than nothing by its rounding.
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

    /// Why the flight had ended before a silence of `gap`, whose last flight had `before` segments.
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
            // The answer's head may have left by itself.
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
