//! Follows an answer from its first bytes to its last, and attributes each pause to the sender's
//! window, the line, a loss, or the server.
//!
//! The bytes are divided into flights, each one round trip after the one before. A window stopped a
//! flight if the next flight began just one round trip later and the evidence agrees: the flight
//! filled the window and broke off, or the flights grow, as they do while a window grows. The
//! result does not depend on whether the sender paces its segments and thus leaves gaps within
//! flights.

use std::time::Duration;

use super::evidence::{Evidence, StallReason};
use super::flights::{self, Flight};
use super::pause::{self, Pause, PauseReason};
use super::waiting::{self, split};
use super::{ms, rtt_ms, telling};
use crate::{Event, Exchange, Moment, Waited};

/// How far from a whole round trip the next flight of a window may begin, in round trips and
/// milliseconds. The client acknowledges within a millisecond, and the path varies.
const ON_TIME: f64 = 0.15;
const ON_TIME_MS: f64 = 2.0;
/// Each flight of a growing window is larger than the one before by at least this factor.
const GROWTH: f64 = 1.25;
/// The same factor in slow start, less a small last segment.
const DOUBLED: f64 = 1.8;
/// In round trips: the next flight of a window begins before this, even if it is delayed.
const LATEST_FLIGHT: f64 = 2.5;
/// In round trips: shorter pauses are attributed to the line.
const MIN_PAUSE: f64 = 0.5;
/// In round trips and milliseconds: the same for pauses before which the sender had certainly sent
/// all that it had.
const MIN_CERTAIN_PAUSE: f64 = 0.25;
const MIN_CERTAIN_PAUSE_MS: f64 = 5.0;
/// As shares of the client's receive window: the bytes that arrive in a round trip if that window
/// alone limits the rate. A window that is not full is twice as large on Linux.
const FILLED: std::ops::RangeInclusive<f64> = 0.75..=1.15;
/// In round trips and milliseconds: shorter steady streams give no evidence about the line.
const STEADY_TRIPS: f64 = 2.0;
const STEADY_MS: f64 = 20.0;
/// In round trips: a last flight that ends this much early still counts as a whole round trip.
const ALMOST: f64 = 0.08;
/// In round trips: shorter pauses after a loss belong to the recovery of the sender's window.
const RECOVERY: f64 = 1.2;
/// As a share of a silence: a client that did not read for this part of it had closed its window.
const UNREAD: f64 = 0.4;

/// Bytes that arrived, with the facts recorded since the bytes before them.
pub(super) struct Arrival {
    pub(super) at: Moment,
    pub(super) bytes: u64,
    pub(super) heard: Evidence,
}

/// How the bytes of an answer arrived.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BodyTransfer {
    /// The flights that a window stopped.
    pub windows: Vec<FullWindow>,
    /// The pauses that the server made.
    pub pauses: Vec<Pause>,
    /// The pauses of the path: the server had sent more, which then came at once.
    pub stalls: Vec<Pause>,
    /// The milliseconds of shorter pauses after a loss, while the sender's window recovered.
    pub recovery: f64,
    /// The bytes and milliseconds of the stretches without a pause that lasted for two round trips
    /// or more.
    pub steady: (u64, f64),
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullWindow {
    pub bytes: u64,
    pub segments: Option<u64>,
    /// The next flight was larger, as flights are while a congestion window grows.
    pub grew: bool,
    /// The client's receive window had no room for more.
    pub own: bool,
    /// A segment was missing before: the sender's window shrank.
    pub after_loss: bool,
}

impl Exchange {
    /// When the first bytes of the answer arrived; they may not have been readable yet.
    pub fn answer_began(&self) -> Option<Moment> {
        let first = self.timeline.first(|e| *e == Event::FirstByte)?;
        let read = self.answered_after_interim().unwrap_or(first);
        let asked = self.timeline.last(|e| *e == Event::RequestSent);
        Some(waiting::answer_began(
            self,
            asked.unwrap_or(read).min(read),
            read,
        ))
    }

    /// When the final response began, if interim responses to the request preceded it. 100
    /// (Continue) answers only the request's head.
    pub(super) fn answered_after_interim(&self) -> Option<Moment> {
        let http = self.http.as_ref()?;
        let told = http.interim.iter().any(|status| *status != 100);
        told.then(|| self.timeline.first(|e| *e == Event::Answered))?
    }

    /// How the bytes of the answer arrived, from the first to the last.
    pub fn transfer(&self) -> Option<BodyTransfer> {
        let body = BodyAnalysis::new(self, self.answer_began()?, self.timeline.end());
        Some(body.transfer)
    }
}

/// The round trips and waits from `start`, where bytes of the answer arrived, to `end`.
pub(super) fn attribute(exchange: &Exchange, start: Moment, end: Moment) -> (u32, Waited) {
    let body = BodyAnalysis::new(exchange, start, end);
    (body.round_trips, body.waited)
}

/// The arrivals from `start` to `end`, and the facts recorded after the last one.
fn arrivals(exchange: &Exchange, start: Moment, end: Moment) -> (Vec<Arrival>, Evidence) {
    let mut arrivals = Vec::new();
    let mut heard = Evidence::default();
    for (at, event) in exchange.timeline.iter() {
        if *at < start || *at > end {
            continue;
        }
        let Event::Received { bytes } = event else {
            heard.hear(*at, event);
            continue;
        };
        let heard = std::mem::take(&mut heard);
        arrivals.push(Arrival {
            at: *at,
            bytes: *bytes,
            heard,
        });
    }
    (arrivals, heard)
}

/// The period during which a segment was missing while later ones had arrived.
fn holes(arrivals: &[Arrival]) -> impl Iterator<Item = (Moment, Moment)> {
    arrivals.iter().filter_map(|arrival| {
        let late = Duration::from_secs_f64(arrival.heard.overtaken()? / 1e3);
        Some((arrival.at - late, arrival.at))
    })
}

struct BodyAnalysis<'a> {
    exchange: &'a Exchange,
    rtt: f64,
    spread: f64,
    most: f64,
    round_trips: u32,
    waited: Waited,
    transfer: BodyTransfer,
    /// A segment has been missing.
    lossy: bool,
    /// The number of bytes that arrived last.
    last: u64,
}

impl<'a> BodyAnalysis<'a> {
    fn new(exchange: &'a Exchange, start: Moment, end: Moment) -> Self {
        let (arrivals, after) = arrivals(exchange, start, end);
        let spread = exchange.spread();
        let mut body = Self {
            exchange,
            rtt: rtt_ms(exchange),
            spread: spread.ms(),
            // A pause that the path may cause is not attributed to the sender.
            most: match spread.samples().len() {
                0 | 1 => spread.tolerance(),
                _ => spread.most(),
            },
            round_trips: 0,
            waited: Waited::default(),
            transfer: BodyTransfer::default(),
            lossy: false,
            last: 0,
        };
        let last = arrivals.last().map_or(start, |a| a.at);
        body.follow(start, &arrivals);
        body.trailing(last, end, &after);
        body
    }

    fn follow(&mut self, start: Moment, arrivals: &[Arrival]) {
        let begun = flights::begun(&self.exchange.timeline, start, self.rtt);
        let flights = if self.is_telling() {
            flights::divide(begun, arrivals, self.rtt)
        } else {
            Vec::new()
        };
        let mut windows = self.windows(&flights, arrivals).into_iter().peekable();
        let mut flights = flights.into_iter().peekable();
        let mut holes = holes(arrivals).peekable();
        let (mut last, mut steady_since) = (start, start);
        let mut steady = 0;
        for (n, arrival) in arrivals.iter().enumerate() {
            let gap = ms(arrival.at.since(last));
            let window = windows.next_if(|(first, _)| *first == n);
            // The first flight began earlier.
            flights.next_if(|f| f.first < n);
            let next = flights.next_if(|f| f.first == n).map(|f| f.bytes);
            self.lossy |= arrival.heard.has_gap();
            while holes.next_if(|(_, filled)| *filled < arrival.at).is_some() {}
            let missed = holes.peek().map_or(0.0, |(open, _)| {
                let open = ms(arrival.at.since(*open));
                // Over QUIC, data that was sent before the sender could know of the loss can be
                // read.
                let due = match self.exchange.quic {
                    Some(_) => open - self.rtt,
                    None => open,
                };
                due.clamp(0.0, gap)
            });
            if self.step(gap, missed, arrival, window.map(|(_, window)| window), next) {
                self.note_steady(steady, last, steady_since);
                (steady_since, steady) = (arrival.at, 0);
            }
            self.transfer.bytes += arrival.bytes;
            self.last = arrival.bytes;
            steady += arrival.bytes;
            last = arrival.at;
        }
        self.note_steady(steady, last, steady_since);
    }

    fn note_steady(&mut self, bytes: u64, last: Moment, since: Moment) {
        let took = ms(last.since(since));
        if took >= STEADY_MS.max(STEADY_TRIPS * self.rtt).min(f64::MAX) {
            self.transfer.steady.0 += bytes;
            self.transfer.steady.1 += took;
        }
    }

    /// The flights that a window stopped, each given by the arrival with which the next one began.
    fn windows(&self, flights: &[Flight], arrivals: &[Arrival]) -> Vec<(usize, FullWindow)> {
        let mut windows = Vec::new();
        let mut room = None;
        let mut growing = flights
            .first()
            .is_some_and(|first| self.is_full(first, flights, arrivals))
            || flights::grow_from_a_small_window(flights, self.exchange.segment(), self.rtt);
        for (n, pair) in flights.windows(2).enumerate() {
            let [flight, next] = pair else { break };
            let last = n + 2 == flights.len();
            let heard = arrivals
                .get(next.first)
                .map(|a| a.heard)
                .unwrap_or_default();
            let more = next.bytes as f64 >= GROWTH * flight.bytes as f64;
            let before = n.checked_sub(1).and_then(|before| flights.get(before));
            let doubled = before.is_some_and(|b| flight.bytes as f64 >= DOUBLED * b.bytes as f64);
            let rest = last && (doubled || self.may_be_the_rest(next, windows.len()));
            growing &= (more || rest) && (n > 0 || heard.is_like_a_window(self.exchange));
            let before = windows
                .last()
                .is_some_and(|(_, w): &(usize, FullWindow)| w.own);
            room = heard.window().or(room);
            let steady = next.gap < MIN_PAUSE * self.rtt
                && room.is_some_and(|room| FILLED.contains(&(flight.bytes as f64 / room as f64)));
            let own = (heard.fills_own_window() || steady) && !more && (before || !last);
            // A window that doubled was full, however late its next flight began.
            let late = self.lateness(flight, next, &heard);
            let full = growing && doubled && late > 0.0;
            if full || self.was_stopped(flight, next, &heard, growing, own) {
                let window = FullWindow {
                    bytes: heard.flight_bytes().unwrap_or(flight.bytes),
                    segments: heard.segments(),
                    grew: !own && (last || more),
                    own,
                    after_loss: false,
                };
                windows.push((next.first, window));
            } else {
                growing = false;
            }
        }
        windows.extend(self.almost(flights, &windows, arrivals));
        windows
    }

    /// The last flight of a paced window may end just before or just after a whole number of round
    /// trips: both count as that number, so that the count is stable from run to run.
    fn almost(
        &self,
        flights: &[Flight],
        windows: &[(usize, FullWindow)],
        arrivals: &[Arrival],
    ) -> Option<(usize, FullWindow)> {
        let ((first, last), end) = flights.first().zip(flights.last()).zip(arrivals.last())?;
        let all = windows.len() >= 2 && windows.len() + 1 == flights.len();
        let whole = ms(end.at.since(first.began)) / self.rtt + ALMOST;
        let (_, before) = windows.last()?;
        let window = FullWindow {
            bytes: last.bytes,
            segments: None,
            ..*before
        };
        let extra = all && before.grew && whole as usize == windows.len() + 1;
        extra.then_some((arrivals.len() - 1, window))
    }

    fn was_stopped(
        &self,
        flight: &Flight,
        next: &Flight,
        heard: &Evidence,
        growing: bool,
        own: bool,
    ) -> bool {
        let late = self.lateness(flight, next, heard);
        let tolerance = (ON_TIME * self.rtt).max(ON_TIME_MS).max(self.spread);
        let on_time = late.abs() <= tolerance;
        let gap = next.gap;
        let broken = heard.stop(self.exchange, gap, self.rtt) == StallReason::Window;
        let by_receiver = own && gap <= LATEST_FLIGHT * self.rtt;
        // A window that is only as large as the one before opens again on time, unless the path
        // itself may be this late.
        let delayed = late > 0.0 && (growing || late <= self.most);
        (on_time && (growing || broken)) || (broken && delayed) || by_receiver
    }

    /// By how many milliseconds a flight began later than a round trip after the one before, beyond
    /// the time in which a client did not run that has to acknowledge QUIC's packets itself.
    fn lateness(&self, flight: &Flight, next: &Flight, heard: &Evidence) -> f64 {
        let late = ms(next.began.since(flight.began)) - self.rtt;
        match self.exchange.quic {
            Some(_) if late > 0.0 => (late - heard.not_running()).max(0.0),
            _ => late,
        }
    }

    /// Whether the first flight filled the initial window.
    fn is_full(&self, first: &Flight, flights: &[Flight], arrivals: &[Arrival]) -> bool {
        let told = flights
            .get(1)
            .and_then(|next| arrivals.get(first.first + 1..=next.first))
            .and_then(|arrivals| {
                let told = arrivals.iter().filter_map(|a| a.heard.segments());
                told.reduce(|sum, more| sum + more)
            })
            .map(|segments| segments + first.segments);
        let most = self.exchange.first_window();
        let full = most - most / 10;
        match told {
            Some(segments) => segments >= full,
            None => first.bytes >= full * self.exchange.segment(),
        }
    }

    /// The last flight brings the rest: after a pause it may have any size, and also without a
    /// pause if the flights before it grew twice.
    fn may_be_the_rest(&self, last: &Flight, windows: usize) -> bool {
        last.gap >= MIN_PAUSE * self.rtt || windows >= 2
    }

    /// Attributes the time before an arrival; during `missed` of it, an earlier segment was
    /// missing. Returns whether the stream had stopped there.
    fn step(
        &mut self,
        gap: f64,
        missed: f64,
        arrival: &Arrival,
        window: Option<FullWindow>,
        next: Option<u64>,
    ) -> bool {
        let heard = &arrival.heard;
        let lost = heard.loss(self.exchange, gap, arrival.at).max(missed);
        self.waited.loss += lost;
        let gap = gap - lost;
        // A loss caused this delay, not a window.
        let window = window.filter(|_| lost < (MIN_PAUSE * self.rtt).min(f64::MAX));
        if let Some(window) = window {
            self.transfer.windows.push(FullWindow {
                after_loss: self.lossy,
                ..window
            });
            self.round_trips += 1;
            let gap = self.unacknowledged(gap, heard);
            let late = gap - self.rtt;
            if late <= self.spread.max(ON_TIME * self.rtt) {
                self.waited.network += gap;
            } else {
                split(self.exchange, gap, &mut self.waited);
            }
            return true;
        }
        let gap = self.unread(gap, heard);
        let after = self.transfer.bytes;
        let doubtful = |doubtful| Pause {
            ms: gap,
            after,
            doubtful,
        };
        match self.why(gap, arrival, next) {
            PauseReason::Timeout => self.waited.loss += gap,
            PauseReason::Sender { .. } if self.lossy && gap <= RECOVERY * self.rtt => {
                self.waited.network += gap;
                self.transfer.recovery += gap;
            }
            PauseReason::Path => {
                self.waited.network += gap;
                self.transfer.stalls.push(doubtful(false));
            }
            PauseReason::Line => {
                self.waited.network += gap;
                // While a window recovers, small pauses belong to the recovery.
                let recovering = self.lossy && gap >= 1.0;
                if recovering {
                    self.transfer.recovery += gap;
                }
                return lost > 0.0 || recovering;
            }
            PauseReason::Sender { is_certain } => {
                self.waited.server += gap;
                self.transfer.pauses.push(doubtful(!is_certain));
            }
        }
        true
    }

    /// Why nothing arrived for `gap`, if no window stopped the sender.
    fn why(&self, gap: f64, arrival: &Arrival, next: Option<u64>) -> PauseReason {
        let least = (MIN_PAUSE * self.rtt).clamp(1.0, f64::MAX);
        let certain = (MIN_CERTAIN_PAUSE * self.rtt).max(MIN_CERTAIN_PAUSE_MS);
        // A pause this short is not attributed to any party.
        if gap < least.min(certain) || gap <= self.spread.max(self.most) {
            return PauseReason::Line;
        }
        let next = next.unwrap_or(arrival.bytes);
        match pause::reason(self.exchange, gap, self.last, &arrival.heard, next) {
            PauseReason::Sender { is_certain: true }
                if gap >= certain && arrival.heard.segments().is_some() =>
            {
                PauseReason::Sender { is_certain: true }
            }
            _ if gap < least => PauseReason::Line,
            reason => reason,
        }
    }

    /// A silence while the client did not read is attributed to the client, until its window had
    /// opened again.
    fn unread(&mut self, gap: f64, heard: &Evidence) -> f64 {
        let unread = heard.not_reading();
        if unread < UNREAD * gap {
            return gap;
        }
        self.waited.client += gap;
        0.0
    }

    /// A window that waits for a client which does not run opens later by that time: it is the
    /// client's. Over TCP, the kernel acknowledges meanwhile.
    fn unacknowledged(&mut self, gap: f64, heard: &Evidence) -> f64 {
        let late = (gap - self.rtt).max(0.0);
        let absent = match self.exchange.quic {
            Some(_) => heard.not_running().min(late),
            None => 0.0,
        };
        self.waited.client += absent;
        gap - absent
    }

    /// The time from the last byte to the end is the client's, unless the exchange failed while it
    /// waited.
    fn trailing(&mut self, last: Moment, end: Moment, heard: &Evidence) {
        let gap = ms(end.since(last));
        let starved = self.exchange.failure.is_some() && end == self.exchange.timeline.end();
        let closed = heard.closed().min(gap);
        if !starved {
            self.waited.client += gap;
        } else if closed > 0.0 {
            self.waited.client += closed;
            self.waited.server += gap - closed;
        } else if let Some(opened) = heard.gap_opened() {
            let missing = ms(end.since(opened.max(last)));
            self.waited.loss += missing;
            self.waited.server += gap - missing;
        } else {
            self.waited.server += gap;
        }
    }

    fn is_telling(&self) -> bool {
        telling::is_telling(self.exchange)
    }
}
