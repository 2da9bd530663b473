//! The evidence from the kernel and TLS about one wait: how much of it was a loss, and why a flight
//! ended.

use super::flights::DOUBLES;
use super::{copies, ms, rtt_ms};
use crate::{Event, Exchange, Moment, Task};

/// In milliseconds: the kernel measures unacknowledged time in ticks, and its timers end at ticks.
const TICKS: f64 = 12.0;
/// In round trips: a sender that lost its last segments gets no acknowledgement, and waits for at
/// least two round trips (RFC 8985 §7.2) after the acknowledgement of the segments before. Shorter
/// silences come from a slow line.
const TAIL_TRIPS: f64 = 2.5;
const MIN_TAIL: f64 = 100.0;
/// How full segments are at least, as a share, if each contains one record that was made to fit it.
const DENSE: f64 = 0.97;
/// A flight that fills this share of the client's receive window was stopped by it: the rest is
/// less than a segment, or was not offered yet.
const FULL_OWN_WINDOW: f64 = 0.85;

/// The shortest wait that spans several timeouts, in milliseconds and in round trips.
const MIN_BLACK_HOLE: f64 = 900.0;
const BLACK_HOLE_TRIPS: f64 = 4.0;
/// The usual payloads of full segments in bytes, without and with timestamps, over Ethernet and
/// PPPoE, and over IPv6.
const USUAL_SEGMENTS: [u64; 4] = [1448, 1460, 1440, 1428];
/// The segment sizes, in bytes, of a Linux that probes the path: `tcp_base_mss` and half of it,
/// less options.
const FALLBACKS: [std::ops::RangeInclusive<u32>; 2] = [1_000..=1_024, 488..=512];
/// The number of segments that shows that most of them are full.
const MANY: u64 = 4;
/// The shortest time, in round trips, until a retransmission is acknowledged.
pub(super) const FASTEST_COPY: f64 = 0.9;

/// How long a paced flight lasts, as a share of a round trip. If segments arrived too early, only
/// the last of them is known.
const SPREAD: f64 = 0.4;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Evidence {
    /// How long a segment that was retransmitted had been unacknowledged, in milliseconds.
    unacked: Option<f64>,
    /// How long before the data that precedes it a segment arrived, in milliseconds.
    overtaken: Option<f64>,
    missed: u64,
    /// When the first missed packet was due, and how long it was missing before something else
    /// arrived, in milliseconds.
    missed_at: Option<Moment>,
    missed_for: Option<f64>,
    /// The first time at which a segment was known to be missing.
    gap_opened: Option<Moment>,
    /// Segments and bytes of the flight before the wait, and the bytes that the client's window
    /// allowed.
    flight: Option<(u64, u64)>,
    window: Option<u64>,
    /// The flight ended in the middle of a record.
    cut: bool,
    /// When the last acknowledgement arrived, and how long before the bytes had left.
    acknowledged: Option<(Moment, f64)>,
    /// The peer may have delayed that acknowledgement on purpose.
    left_late: bool,
    late_at: Option<Moment>,
    /// How long before the acknowledgement the retransmission had left, in milliseconds.
    copy: Option<f64>,
    /// How long written data did not leave the host, in milliseconds.
    held_back: f64,
    /// How long the client was ready to run but did not run, and how long it wrote to its own
    /// output, in milliseconds.
    not_running: f64,
    writing: f64,
    /// How long the client's receive window had no room, in milliseconds.
    closed: f64,
    /// When the peer's stream ended.
    ended: Option<Moment>,
    /// How long after the bytes before them the next bytes left the peer, in milliseconds.
    departed: Option<f64>,
}

/// Why nothing more arrived for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StallReason {
    /// The sender's window was full.
    Window,
    /// The next segments were lost, and a timeout retransmitted them.
    Timeout,
    /// The sender had sent more, and the line delivered it late.
    Line,
    /// The sender had nothing more to send.
    Sender,
}

impl Evidence {
    pub(super) fn hear(&mut self, at: Moment, event: &Event) {
        match event {
            Event::Resent { unacked, .. } => self.unacked = Some(ms(*unacked)),
            Event::Overtaken { late, .. } => self.overtaken = Some(ms(*late)),
            Event::GapOpened { .. } => {
                self.gap_opened.get_or_insert(at);
            }
            Event::Missed { packets } => {
                self.missed += packets;
                self.missed_at.get_or_insert(at);
            }
            Event::Received { .. } if self.missed_for.is_none() => {
                self.missed_for = self.missed_at.map(|due| ms(at.since(due)));
            }
            Event::Paused {
                segments,
                bytes,
                window,
            } => {
                // With fast open, the segments of the first flight may have come before the
                // counters were read.
                self.flight = (*segments > 0).then_some((*segments, *bytes));
                self.window = *window;
            }
            Event::CutOff => self.cut = true,
            Event::Acknowledged { after, again } => {
                self.left_late = self.late_at == Some(at);
                self.acknowledged = Some((at, ms(*after)));
                self.copy = again.map(ms).or(self.copy);
            }
            Event::AckLeftLate => self.late_at = Some(at),
            Event::HeldBack { took } => self.held_back += ms(*took),
            Event::Starved { took, .. } => self.not_running += ms(*took),
            Event::WindowClosed { took } => self.closed += ms(*took),
            Event::StreamEnded => self.ended = Some(at),
            // What answers may also follow other bytes: the longer time is between those.
            Event::Departed { after } => {
                let after = ms(*after).max(self.departed.unwrap_or(0.0));
                self.departed = Some(after);
            }
            Event::Worked {
                task: Task::Write,
                took,
            } => self.writing += ms(*took),
            _ => {}
        }
    }

    /// All evidence between two moments, as if it belonged to one wait.
    pub(super) fn between(exchange: &Exchange, start: Moment, end: Moment) -> Self {
        let mut evidence = Self::default();
        for (at, event) in exchange.timeline.iter() {
            if *at > start && *at <= end {
                evidence.hear(*at, event);
            }
        }
        evidence
    }

    /// How late data was that other segments had overtaken on the path, in milliseconds.
    pub(super) fn reordered(&self, rtt: f64) -> f64 {
        self.overtaken
            .filter(|late| *late < FASTEST_COPY * rtt)
            .unwrap_or(0.0)
    }

    /// The part of `rest`, the excess length of a wait that ended at `end`, that was due to a loss.
    pub(super) fn loss(&self, exchange: &Exchange, rest: f64, end: Moment) -> f64 {
        let rtt = rtt_ms(exchange);
        // Rounding can make the difference negative.
        let rest = rest.max(0.0);
        let missed = self.gap_opened.map(|opened| ms(end.since(opened)));
        // A QUIC client learns that a packet is missing when the next one comes.
        let due = self.missed_at.filter(|_| exchange.quic.is_none());
        let absent = due.map(|due| self.missed_for.unwrap_or_else(|| ms(end.since(due))));
        let all = [self.overtaken, missed, absent].into_iter().flatten();
        let late = all.reduce(f64::max);
        // A sender learns of a lost segment half a round trip after the segments behind it have
        // arrived, and the retransmission takes as long again: data that arrives sooner was
        // reordered.
        let lost = late.filter(|late| *late >= FASTEST_COPY * rtt);
        let theirs = lost.map_or(0.0, |late| {
            let whole = rest - late <= SPREAD * rtt;
            if whole { rest } else { late }
        });
        let left = rest - theirs;
        // A needless retransmission was not a loss. A needed one takes a round trip after the
        // acknowledgement that showed the loss.
        let needless = self.was_needless(exchange);
        let answers_original = self.copy.is_some() && self.copied(exchange).is_none();
        let unacked = self
            .unacked
            .filter(|unacked| !needless && !answers_original && *unacked >= 2.0 * rtt - TICKS);
        let ours = unacked.map_or(0.0, |unacked| {
            let late = (unacked - rtt).min(left).max(0.0);
            if left - late < TICKS { left } else { late }
        });
        theirs + ours
    }

    /// Why the flight ended before a silence of `gap`.
    pub(super) fn stop(&self, exchange: &Exchange, gap: f64, rtt: f64) -> StallReason {
        let (segments, _) = self.flight.unwrap_or_default();
        let broken = self.is_broken(exchange);
        let full = exchange.first_window() * 9 / 10;
        if broken && segments >= full.max(1) && gap <= TAIL_TRIPS * rtt {
            StallReason::Window
        } else if broken && !is_like_a_tail(gap, rtt) {
            StallReason::Line
        } else if broken {
            StallReason::Timeout
        } else {
            StallReason::Sender
        }
    }

    /// Whether the sender had more data when it stopped: it broke off in a record, or only full
    /// segments arrived.
    pub(super) fn is_broken(&self, exchange: &Exchange) -> bool {
        let (segments, bytes) = self.flight.unwrap_or_default();
        if exchange.tls.is_some() {
            self.cut
        } else {
            self.cut || segments > 0 && bytes == segments * exchange.segment()
        }
    }

    /// Whether the flight looks like a full window: it ended abruptly, or small records filled each
    /// segment, or it has exactly as many segments as a first window, or its segments were full.
    pub(super) fn is_like_a_window(&self, exchange: &Exchange) -> bool {
        let Some((segments, bytes)) = self.flight else {
            return true;
        };
        let first = exchange.first_window();
        // Segments that a NAT or proxy on the way has cut again still contain the same number of
        // bytes.
        let again = USUAL_SEGMENTS
            .iter()
            .any(|size| bytes > 0 && bytes.is_multiple_of(*size));
        // The window of a kept connection has grown.
        let large = exchange.reused && segments >= 2 * first && self.fills_segments(exchange);
        self.is_broken(exchange) || segments == first || again || large || self.is_dense(exchange)
    }

    /// Whether the segments of the flight were full of records, each made to fit one segment.
    pub(super) fn is_dense(&self, exchange: &Exchange) -> bool {
        exchange.tls.is_some() && self.fills_segments(exchange)
    }

    /// Whether the flight has exactly as many segments as a first window, at most one of them, such
    /// as that of the head, was not full, and the `next` bytes were about twice as many: the window
    /// stopped the sender, whatever it had left to send.
    pub(super) fn fills_first_window(&self, exchange: &Exchange, next: u64) -> bool {
        let (segments, bytes) = self.flight.unwrap_or_default();
        let least = (segments.max(1) - 1) * exchange.segment();
        let is_first = !exchange.reused && segments == exchange.first_window();
        let doubled = next as f64 >= DOUBLES.start() * bytes as f64;
        // Records show where the sender had nothing more.
        is_first && doubled && exchange.tls.is_none() && bytes > least
    }

    /// Whether most segments of the flight were full.
    pub(super) fn fills_segments(&self, exchange: &Exchange) -> bool {
        let (segments, bytes) = self.flight.unwrap_or_default();
        segments > 0 && bytes as f64 >= DENSE * (segments * exchange.segment()) as f64
    }

    /// Whether the flight filled the client's receive window.
    pub(super) fn fills_own_window(&self) -> bool {
        self.flight
            .zip(self.window)
            .is_some_and(|((_, bytes), window)| {
                bytes > 0 && bytes as f64 >= FULL_OWN_WINDOW * window as f64
            })
    }

    /// How long the client read nothing, in milliseconds: its receive window may have closed.
    pub(super) fn not_reading(&self) -> f64 {
        (self.not_running + self.writing).max(self.closed)
    }

    /// How long the client was ready to run but did not run, in milliseconds.
    pub(super) fn not_running(&self) -> f64 {
        self.not_running
    }

    /// How long the client's receive window had no room, in milliseconds.
    pub(super) fn closed(&self) -> f64 {
        self.closed
    }

    pub(super) fn ended(&self) -> Option<Moment> {
        self.ended
    }

    /// How long after the bytes before them the next bytes left the peer, in milliseconds, if that
    /// is known.
    pub(super) fn departed(&self) -> Option<f64> {
        self.departed
    }

    pub(super) fn segments(&self) -> Option<u64> {
        self.flight.map(|(segments, _)| segments)
    }

    pub(super) fn flight_bytes(&self) -> Option<u64> {
        self.flight.map(|(_, bytes)| bytes)
    }

    pub(super) fn gap_opened(&self) -> Option<Moment> {
        self.gap_opened
    }

    /// When the peer's last acknowledgement arrived, and how long it took, in milliseconds.
    pub(super) fn acknowledged(&self) -> Option<(Moment, f64)> {
        self.acknowledged
    }

    /// Whether the peer may have delayed that acknowledgement on purpose, however late it was.
    pub(super) fn left_late(&self) -> bool {
        self.left_late
    }

    /// The milliseconds from a retransmission to its acknowledgement, if the peer had only the
    /// retransmission.
    pub(super) fn copied(&self, exchange: &Exchange) -> Option<f64> {
        let late = FASTEST_COPY * rtt_ms(exchange);
        self.copy
            .filter(|copy| *copy >= late && !self.was_needless(exchange))
    }

    /// Whether data was retransmitted although the peer had the original.
    pub(super) fn resent_in_vain(&self, exchange: &Exchange) -> bool {
        self.unacked.is_some() && self.was_needless(exchange)
    }

    fn was_needless(&self, exchange: &Exchange) -> bool {
        copies::were_needless(exchange)
            || self
                .acknowledged
                .is_some_and(|(at, _)| copies::answers_original(exchange, at))
    }

    /// How long written data did not leave the host, in milliseconds.
    pub(super) fn held_back(&self) -> f64 {
        self.held_back
    }

    /// Whether a segment was missing.
    pub(super) fn has_gap(&self) -> bool {
        self.overtaken.is_some() || self.gap_opened.is_some()
    }

    pub(super) fn window(&self) -> Option<u64> {
        self.window
    }

    /// How long before the preceding data a segment had arrived, in milliseconds.
    pub(super) fn overtaken(&self) -> Option<f64> {
        self.overtaken
    }

    /// The number of packets from a QUIC peer that had not arrived when the wait ended.
    pub(super) fn missed(&self) -> u64 {
        self.missed
    }
}

/// Whether a silence of `gap` is as long as after the loss of a flight's last segments.
pub(super) fn is_like_a_tail(gap: f64, rtt: f64) -> bool {
    gap >= MIN_TAIL.max(TAIL_TRIPS * rtt)
}

/// Whether a silence of `gap` ended at `at` in the middle of the data, with smaller segments than
/// before: the sender had found that full segments do not get through (RFC 4821).
pub(super) fn ended_with_smaller_segments(
    exchange: &Exchange,
    heard: &Evidence,
    gap: f64,
    at: Moment,
) -> bool {
    if gap < MIN_BLACK_HOLE.max(BLACK_HOLE_TRIPS * rtt_ms(exchange)) {
        return false;
    }
    // A server that had the request and writes little at a time sends small segments, too.
    let acked = heard.acknowledged();
    let had_it = acked.is_some_and(|(then, _)| ms(at.since(then)) >= 0.5 * gap);
    if sends_smaller_segments(exchange)
        && !is_reported(exchange, gap)
        && (!had_it || sends_fallback_segments(exchange))
    {
        return true;
    }
    let mut later = exchange.timeline.iter().filter(|(t, _)| *t >= at);
    // A full segment that arrived shows that there is no MTU black hole.
    let are_small = |segments: u64, bytes: u64| 4 * bytes < 3 * segments * exchange.segment();
    // Segments count at the time of their arrival, and bytes at the time when they could be read,
    // which is later behind a gap.
    let filled = later.clone().rev();
    let filled = filled.filter(|(_, e)| matches!(e, Event::Overtaken { .. }));
    let filled = filled.map(|(t, _)| *t).next();
    let (mut segments_until, mut bytes_until) = (0, 0);
    let stays_small = later.clone().all(|(t, event)| match event {
        Event::Paused {
            segments, bytes, ..
        } if filled.is_some_and(|filled| *t <= filled) => {
            segments_until += segments;
            bytes_until += bytes;
            true
        }
        Event::Paused {
            segments, bytes, ..
        } => are_small(*segments, *bytes),
        _ => true,
    }) && (segments_until == 0 || are_small(segments_until, bytes_until));
    let several = later.find_map(|(_, event)| match event {
        Event::Paused { segments, .. } => Some(*segments > 1),
        _ => None,
    });
    stays_small
        && several == Some(true)
        && later
            .next()
            .is_some_and(|(_, e)| matches!(e, Event::CutOff | Event::GapOpened { .. }))
}

/// Whether the peer sends segments far smaller than those it accepts, although it has enough data
/// for larger ones.
fn sends_smaller_segments(exchange: &Exchange) -> bool {
    let received = exchange
        .timeline
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Received { bytes } => Some(*bytes),
            _ => None,
        });
    exchange.tcp.as_ref().is_some_and(|tcp| {
        let theirs = u64::from(tcp.peer_mss);
        let smaller = theirs > 0 && 4 * theirs < 3 * u64::from(tcp.mss);
        smaller && received.sum::<u64>() >= MANY * theirs
    })
}

/// Whether the peer's segments have the fallback size of a kernel that probes the path.
fn sends_fallback_segments(exchange: &Exchange) -> bool {
    let theirs = exchange.tcp.as_ref().map_or(0, |tcp| tcp.peer_mss);
    FALLBACKS.iter().any(|sizes| sizes.contains(&theirs))
}

/// Whether the server itself reports that its work took this long (Server-Timing).
fn is_reported(exchange: &Exchange, gap: f64) -> bool {
    exchange.reported().is_some_and(|said| said >= 0.5 * gap)
}
