//! Follows the bytes of a handshake one by one and attributes each gap to one party.
//!
//! A wait runs from the last bytes sent to the first that arrive in answer. One round trip of it
//! belongs to the network and the rest to the server, except for losses that the kernel reports.
//! Silence between two arrivals also belongs to the server, unless the server had to stop because
//! its window was full: then it is one more round trip. The remaining time belongs to the client.

use super::evidence::{Evidence, StallReason};
use super::waiting::{answered, split, starve};
use super::{connect, measurable, ms, rtt_ms};
use crate::{Event, Exchange, Moment, PhaseName, Waited};

/// In segments: nine tenths of the initial window of RFC 6928. The window stopped a sender that
/// pauses there.
const FULL_FIRST_WINDOW: u64 = 9;
/// The shortest retransmission timeout of Linux, less a tenth, in milliseconds.
const MIN_TIMEOUT: f64 = 180.0;
/// In milliseconds: a client that neither computes nor lacks a processor sends sooner than this,
/// unless it waits for a timer.
const MIN_WAIT: f64 = 20.0;
/// A sender that skips packet numbers skips one at a time; and its probe timeout takes at least
/// two round trips (RFC 9002 §6.2.1).
const MIN_MISSED: u64 = 2;
const TIMEOUT_TRIPS: f64 = 2.0;
/// The smallest datagram that carries an Initial, in bytes. RFC 9000 §14.1.
const MIN_INITIAL: u64 = 1200;

/// Follows the bytes of one phase in the order of their times.
pub(super) struct Walk<'a> {
    exchange: &'a Exchange,
    name: PhaseName,
    rtt: f64,
    /// The number of bytes since the sender last had to stop.
    burst: u64,
    /// The number of bytes of this phase, in each direction.
    sent: u64,
    received: u64,
    /// The number of bytes sent before the peer first sent anything.
    first_flight: u64,
    /// The number of bytes in the latest batch that arrived at once, and in the largest such batch.
    last: u64,
    largest: u64,
    /// The peer could not continue before it received the client's last flight. Over QUIC, nothing
    /// else makes an answer a round trip.
    stopped: bool,
    /// The number of bytes that arrived since the peer last had to stop.
    unstopped: u64,
    /// The evidence about the current wait.
    heard: Evidence,
    round_trips: u32,
    /// The number of addresses that refused QUIC over the path.
    refused: u32,
    waited: Waited,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DataDirection {
    Out,
    In,
}

impl<'a> Walk<'a> {
    pub(super) fn new(exchange: &'a Exchange, name: PhaseName) -> Self {
        Self {
            exchange,
            name,
            rtt: rtt_ms(exchange),
            burst: 0,
            sent: 0,
            received: 0,
            first_flight: 0,
            last: 0,
            largest: 0,
            stopped: false,
            unstopped: 0,
            heard: Evidence::default(),
            round_trips: 0,
            refused: 0,
            waited: Waited::default(),
        }
    }

    pub(super) fn run(mut self, start: Moment, end: Moment) -> (u32, Waited) {
        let start = self.given_up(start, end);
        let mut last = (start, self.before(start));
        for (at, event) in self.exchange.timeline.iter() {
            let (direction, bytes) = match event {
                Event::Sent { bytes } => (DataDirection::Out, *bytes),
                Event::Received { bytes } => (DataDirection::In, *bytes),
                other if *at >= start && *at <= end => {
                    self.heard.hear(*at, other);
                    continue;
                }
                _ => continue,
            };
            if *at < start || *at > end {
                continue;
            }
            self.step(last, direction, *at);
            self.count(direction, bytes);
            last = (*at, Some(direction));
        }
        self.trailing(last, end);
        if self.name == PhaseName::Quic && self.round_trips > 0 {
            let extra = self.exchange.extra_trips;
            self.round_trips = if self.is_measurable() {
                self.round_trips.max(1 + extra)
            } else {
                self.round_trips + extra
            };
        }
        (self.round_trips + self.refused, self.waited)
    }

    /// Handles the addresses that were tried and abandoned before this QUIC handshake; their bytes
    /// are not counted. Returns where the rest begins.
    fn given_up(&mut self, start: Moment, end: Moment) -> Moment {
        let attempts = || self.exchange.attempts.iter().filter(|a| a.over_quic);
        let began = |at: Option<Moment>| at.map(|at| at.clamp(start, end));
        let first = began(attempts().map(|a| a.began).min());
        let last = began(attempts().map(|a| a.began).max());
        let (PhaseName::Quic, Some((first, last))) = (self.name, first.zip(last)) else {
            return start;
        };
        if first == last {
            return start;
        }
        let before = attempts().filter(|a| a.began < last).collect();
        let (refused, waited) = connect::before(before, first, last);
        self.refused += refused;
        self.waited = self.waited.plus(waited);
        self.waited.client += ms(first.since(start));
        last
    }

    fn count(&mut self, direction: DataDirection, bytes: u64) {
        if direction == DataDirection::Out {
            self.stopped |= self.is_incomplete() || self.is_at_limit();
            self.stopped |= self.is_measurable() && self.may_have_stopped();
            self.burst = 0;
            self.sent += bytes;
        } else {
            if self.received == 0 {
                self.first_flight = self.sent;
            }
            self.burst += bytes;
            self.unstopped += bytes;
            self.received += bytes;
            self.last = bytes;
            self.largest = self.largest.max(bytes);
        }
    }

    fn is_measurable(&self) -> bool {
        measurable::is_measurable(self.exchange)
    }

    /// In milliseconds: data that arrives sooner is not an answer to the last bytes sent. R itself
    /// may have been measured while the machine was slow. A QUIC server sends its flight in many
    /// datagrams, and the client acknowledges some of them while the server still computes the
    /// rest.
    fn shortest_answer(&self) -> f64 {
        let share = if self.name == PhaseName::Quic {
            0.75
        } else {
            0.5
        };
        share * self.rtt
    }

    /// Whether a packet of the QUIC handshake was lost and the peer has so far only sent
    /// acknowledgements: a datagram that continues an Initial is never this small. RFC 9000 §14.1.
    fn is_incomplete(&self) -> bool {
        let quic = self.exchange.quic.as_ref();
        let detour = quic.is_some_and(|q| q.retry || q.version_negotiation);
        let lost = quic.is_some_and(|q| q.lost_in_handshake > 0);
        lost && !detour && (1..MIN_INITIAL).contains(&self.received)
    }

    /// Whether the peer has sent all that it may before the client's address is validated. RFC 9000
    /// §8.1.
    fn is_at_limit(&self) -> bool {
        self.is_at_limit_of(self.sent)
    }

    fn is_at_limit_of(&self, sent: u64) -> bool {
        let retried = self.exchange.quic.as_ref().is_some_and(|q| q.retry);
        !retried && self.has_reached_limit(sent, sent)
    }

    /// Whether as much arrived as a server may send, if at least `least` and at most `most` bytes
    /// had reached it: less than a datagram is missing. Some servers let the datagram pass that
    /// exceeds the limit.
    fn has_reached_limit(&self, least: u64, most: u64) -> bool {
        self.received > 0
            && self.received + MIN_INITIAL > least.saturating_mul(3)
            && self.received < most.saturating_mul(3).saturating_add(MIN_INITIAL)
    }

    /// Whether a QUIC server that pauses for a round trip may have waited for the client: it had
    /// sent what it may before the client's address is validated, or what its first window allows;
    /// or it asks for another first flight. A server has no other reason to wait for its client, so
    /// any other pause is the server's own, and not a round trip.
    fn may_have_stopped(&self) -> bool {
        let at_limit = self.has_reached_limit(self.first_flight, self.sent);
        let window = FULL_FIRST_WINDOW * self.exchange.segment();
        let quic = self.exchange.quic.as_ref();
        let lost = quic.is_some_and(|quic| quic.lost_in_handshake > 0);
        let extra = self.exchange.extra_trips;
        let asked_again = extra > 0 && (1..1 + extra + u32::from(lost)).contains(&self.round_trips);
        at_limit || asked_again || self.unstopped >= window
    }

    /// The client's state when the phase began: waiting for an answer, or about to send.
    fn before(&self, start: Moment) -> Option<DataDirection> {
        if self.name == PhaseName::Body {
            return Some(DataDirection::In);
        }
        self.exchange
            .timeline
            .iter()
            .take_while(|(at, _)| *at <= start)
            .filter_map(|(at, event)| match event {
                Event::Sent { .. } if *at < start => Some(DataDirection::Out),
                Event::Received { .. } => Some(DataDirection::In),
                _ => None,
            })
            .last()
            .filter(|direction| *direction == DataDirection::Out)
    }

    fn step(
        &mut self,
        (since, from): (Moment, Option<DataDirection>),
        to: DataDirection,
        at: Moment,
    ) {
        use DataDirection::{In, Out};
        let gap = ms(at.since(since));
        let heard = match to {
            In => std::mem::take(&mut self.heard),
            Out => self.heard,
        };
        let quic = self.name == PhaseName::Quic;
        // An acknowledgement may cross a flight that still arrives; QUIC sends many.
        let stopped = quic && std::mem::take(&mut self.stopped);
        let late = gap - self.rtt;
        let lost = quic && heard.missed() >= MIN_MISSED && late >= TIMEOUT_TRIPS * self.rtt;
        let is_short = self.is_measurable() && gap < self.shortest_answer();
        let crossing = if quic {
            self.round_trips > 0 && (is_short || !(stopped || lost))
        } else {
            is_short
        };
        match (from, to) {
            (Some(Out), In) if crossing && self.is_measurable() && !is_short => {
                let lost = heard.loss(self.exchange, gap, at);
                self.waited.loss += lost;
                self.waited.server += gap - lost;
            }
            (Some(Out), In) if crossing => split(self.exchange, gap, &mut self.waited),
            (Some(Out), In) => {
                self.round_trips += 1;
                self.unstopped = 0;
                if lost {
                    split(self.exchange, gap, &mut self.waited);
                    self.waited.server -= late;
                    self.waited.loss += late;
                } else {
                    answered(self.exchange, (since, at), &heard, &mut self.waited);
                }
            }
            (Some(In), In) => self.silence(gap, &heard, at),
            (Some(Out), Out) if quic && gap >= MIN_TIMEOUT => self.waited.loss += gap,
            // The client's timer shows which packet was lost. RFC 9002 §6.1.2.
            (Some(In), Out) if quic && self.is_incomplete() => self.waited.loss += gap,
            (Some(In), Out) if quic && self.exchange.failure.is_some() => {
                // Beyond its own work, the client waits for its timer.
                let own = self.worked(since, at) + heard.not_running();
                let lost = if gap - own >= MIN_WAIT {
                    gap - own
                } else {
                    0.0
                };
                self.waited.loss += lost;
                self.waited.client += gap - lost;
            }
            (_, Out) | (None, In) => self.waited.client += gap,
        }
    }

    /// The milliseconds of the client's tasks that ended between two moments.
    fn worked(&self, since: Moment, until: Moment) -> f64 {
        let events = self.exchange.timeline.iter();
        let tasks = events.filter_map(|(at, event)| match event {
            Event::Worked { took, .. } if *at > since && *at <= until => Some(ms(*took)),
            _ => None,
        });
        tasks.sum()
    }

    /// Nothing arrived for a while, although the peer was not waiting for the client.
    fn silence(&mut self, gap: f64, heard: &Evidence, at: Moment) {
        let lost = heard.loss(self.exchange, gap, at);
        self.waited.loss += lost;
        let gap = gap - lost;
        let stop = if gap < self.shortest_answer().min(f64::MAX) {
            StallReason::Line
        } else {
            match self.stop(gap, heard) {
                // A pause this short is not attributed to any party.
                StallReason::Sender if gap < 1.0 => StallReason::Line,
                stop => stop,
            }
        };
        match stop {
            StallReason::Window => {
                self.round_trips += 1;
                split(self.exchange, gap, &mut self.waited);
                self.burst = 0;
            }
            StallReason::Timeout => self.waited.loss += gap,
            StallReason::Line => self.waited.network += gap,
            StallReason::Sender => self.waited.server += gap,
        }
    }

    /// If segments were not counted, a flight is judged by its bytes.
    fn stop(&self, gap: f64, heard: &Evidence) -> StallReason {
        // A sender without more data ends with a datagram that is not full. Probes of the path's
        // MTU are larger.
        let full = self.exchange.quic.is_none() || 5 * self.last >= 4 * self.largest;
        // The client's acknowledgement may be on its way while the first flight still arrives.
        let stalled = self.name == PhaseName::Quic
            && self.is_measurable()
            && self.is_at_limit_of(self.first_flight);
        if stalled && gap <= 2.5 * self.rtt {
            StallReason::Window
        } else if heard.segments().is_some() {
            match heard.stop(self.exchange, gap, self.rtt) {
                StallReason::Sender
                    if gap <= 2.5 * self.rtt
                        && heard.segments() >= Some(self.exchange.first_window() * 9 / 10)
                        && heard.is_like_a_window(self.exchange) =>
                {
                    StallReason::Window
                }
                // A window may have been full behind something nearer than the server.
                StallReason::Timeout if gap <= self.exchange.longest_pause_beyond() => {
                    StallReason::Sender
                }
                stop => stop,
            }
        } else if full
            && self.is_measurable()
            && self.burst >= FULL_FIRST_WINDOW * self.exchange.segment()
            && gap <= 2.5 * self.rtt
        {
            StallReason::Window
        } else if full && self.exchange.quic.is_some() && self.largest > 0 {
            StallReason::Line
        } else {
            StallReason::Sender
        }
    }

    /// The time from the last byte to the phase's end belongs to the client, unless the exchange
    /// failed while it waited.
    fn trailing(&mut self, (since, from): (Moment, Option<DataDirection>), end: Moment) {
        let gap = ms(end.since(since));
        let starved = self.exchange.failure.is_some() && end == self.exchange.timeline.end();
        if !starved || from.is_none() {
            self.waited.client += gap;
            return;
        }
        let lost = self
            .heard
            .gap_opened()
            .map_or(0.0, |opened| ms(end.since(opened.max(since))));
        self.waited.loss += lost;
        if from == Some(DataDirection::Out) && self.was_refused() {
            self.refused += 1;
            self.waited.network += gap;
        } else if from == Some(DataDirection::Out) {
            starve(self.exchange, gap - lost, &self.heard, &mut self.waited);
        } else {
            self.waited.server += gap - lost;
        }
    }

    /// Whether the last address refused QUIC in a reply that came over the path.
    fn was_refused(&self) -> bool {
        let attempts = self.exchange.attempts.iter().filter(|a| a.over_quic);
        let last = attempts.max_by_key(|a| a.began);
        self.name == PhaseName::Quic
            && last.is_some_and(|a| connect::was_refused(a) && connect::crossed(a))
    }
}
