//! Follows an answer from its first bytes to its last: which pauses were the sender's window, the
//! line, a loss, or the server.
//!
//! The bytes are divided into flights, each a round trip after the one before. A flight was stopped
//! by a window if the next one began just a round trip after it and the evidence agrees: it was
//! full and broke off, or the flights grow, as they do while a window grows. That does not depend
//! on whether the sender paces its segments, and so leaves gaps between flights, or not.

use std::time::Duration;

use super::evidence::{Evidence, Stop};
use super::flights::{self, Flight};
use super::waiting::{self, SHORTEST_TELLING_RTT, split};
use super::{ms, rtt_ms};
use crate::{Event, Exchange, Moment, Waited};

/// In round trips and milliseconds: how far from a round trip the next flight of a window may
/// begin. The client acknowledges within a millisecond, and the path varies.
const ON_TIME: f64 = 0.15;
const ON_TIME_MS: f64 = 2.0;
/// Each flight of a growing window brings a quarter more than the one before, at least.
const GROWTH: f64 = 1.25;
/// In round trips. Even with what delays it, the next flight of a window comes before this.
const LATEST_FLIGHT: f64 = 2.5;
/// In round trips: shorter pauses are the line's.
const SHORTEST_PAUSE: f64 = 0.5;
/// As shares of the client's receive window: what comes in a round trip if that window alone sets the
/// pace. A window that is not full is twice as large, as Linux makes it.
const FILLED: std::ops::RangeInclusive<f64> = 0.75..=1.15;
/// In round trips and milliseconds: a steady stream that is shorter says nothing about the line.
const STEADY_TRIPS: f64 = 2.0;
const STEADY_MS: f64 = 20.0;
/// In round trips.
const ALMOST: f64 = 0.08;
/// In segments.
const MAX_AFTER_TIMEOUT: u64 = 3;
/// In round trips.
const RECOVERY: f64 = 1.2;
/// As a share of a silence: a client that did not read for so long closed its window.
const UNREAD: f64 = 0.4;

/// Bytes that arrived, with what was learnt since the bytes before them.
pub(super) struct Arrival {
    pub(super) at: Moment,
    pub(super) bytes: u64,
    pub(super) heard: Evidence,
}

/// How the bytes of an answer came.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transfer {
    /// The flights that a window stopped.
    pub windows: Vec<FullWindow>,
    /// The pauses of the server.
    pub pauses: Vec<Pause>,
    /// The milliseconds of shorter pauses after a loss, while the sender's window recovered.
    pub recovery: f64,
    /// What came without a pause, where that lasted for two round trips and more: bytes, and
    /// milliseconds.
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
    /// Something was missing before: the sender's window shrank.
    pub after_loss: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pause {
    pub ms: f64,
    /// How many bytes of the answer had arrived before it.
    pub after: u64,
}

impl Exchange {
    /// When the first bytes of the answer arrived, which may not have been readable yet.
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

    /// When the final response came, if interim ones preceded it that are answers to the request:
    /// 100 (Continue) is one to its head.
    pub(super) fn answered_after_interim(&self) -> Option<Moment> {
        let http = self.http.as_ref()?;
        let told = http.interim.iter().any(|status| *status != 100);
        told.then(|| self.timeline.first(|e| *e == Event::Answered))?
    }

    /// How the bytes of the answer came, from the first to the last.
    pub fn transfer(&self) -> Option<Transfer> {
        let body = Body::new(self, self.answer_began()?, self.timeline.end());
        Some(body.transfer)
    }
}

/// The round trips and waits from `start`, where bytes of the answer arrived, to `end`.
pub(super) fn attribute(exchange: &Exchange, start: Moment, end: Moment) -> (u32, Waited) {
    let body = Body::new(exchange, start, end);
    (body.round_trips, body.waited)
}

/// The arrivals from `start` to `end`, and what was learnt after the last.
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

/// From when to when something was missing while what follows it was there.
fn holes(arrivals: &[Arrival]) -> impl Iterator<Item = (Moment, Moment)> {
    arrivals.iter().filter_map(|arrival| {
        let late = Duration::from_secs_f64(arrival.heard.overtaken()? / 1e3);
        Some((arrival.at - late, arrival.at))
    })
}

struct Body<'a> {
    exchange: &'a Exchange,
    rtt: f64,
    spread: f64,
    round_trips: u32,
    waited: Waited,
    transfer: Transfer,
    /// Something has been missing.
    lossy: bool,
}

impl<'a> Body<'a> {
    fn new(exchange: &'a Exchange, start: Moment, end: Moment) -> Self {
        let (arrivals, after) = arrivals(exchange, start, end);
        let mut body = Self {
            exchange,
            rtt: rtt_ms(exchange),
            spread: exchange.spread().ms(),
            round_trips: 0,
            waited: Waited::default(),
            transfer: Transfer::default(),
            lossy: false,
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
            // The first one began before.
            flights.next_if(|f| f.first < n);
            let next = flights.next_if(|f| f.first == n).map(|f| f.bytes);
            self.lossy |= arrival.heard.has_gap();
            while holes.next_if(|(_, filled)| *filled < arrival.at).is_some() {}
            let missed = holes.peek().map_or(0.0, |(open, _)| {
                let open = ms(arrival.at.since(*open));
                // Over QUIC, what was sent before the sender could know of the loss can be read.
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

    /// The flights that a window stopped, by the arrival with which the next one began.
    fn windows(&self, flights: &[Flight], arrivals: &[Arrival]) -> Vec<(usize, FullWindow)> {
        let mut windows = Vec::new();
        let mut room = None;
        let mut growing = flights
            .first()
            .is_some_and(|first| self.is_full(first, flights, arrivals));
        for (n, pair) in flights.windows(2).enumerate() {
            let [flight, next] = pair else { break };
            let last = n + 2 == flights.len();
            let heard = arrivals
                .get(next.first)
                .map(|a| a.heard)
                .unwrap_or_default();
            let more = next.bytes as f64 >= GROWTH * flight.bytes as f64;
            growing &= (more || (last && self.may_be_the_rest(next, windows.len())))
                && (n > 0 || heard.is_like_a_window(self.exchange));
            let before = windows
                .last()
                .is_some_and(|(_, w): &(usize, FullWindow)| w.own);
            room = heard.window().or(room);
            let steady = next.gap < SHORTEST_PAUSE * self.rtt
                && room.is_some_and(|room| FILLED.contains(&(flight.bytes as f64 / room as f64)));
            let own = (heard.fills_own_window() || steady) && !more && (before || !last);
            if self.was_stopped(flight, next, &heard, growing, own) {
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

    /// A paced window's last flight may end just before, or just after, a whole number of round trips:
    /// both count as that number, so that the count does not depend on the day.
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
        let late = ms(next.began.since(flight.began)) - self.rtt;
        let tolerance = (ON_TIME * self.rtt).max(ON_TIME_MS).max(self.spread);
        let on_time = late.abs() <= tolerance;
        let gap = next.gap;
        let broken = heard.stop(self.exchange, gap, self.rtt) == Stop::Window;
        let by_receiver = own && gap <= LATEST_FLIGHT * self.rtt;
        (on_time && (growing || broken)) || (broken && late > 0.0) || by_receiver
    }

    /// Whether the first flight filled the initial window.
    fn is_full(&self, first: &Flight, flights: &[Flight], arrivals: &[Arrival]) -> bool {
        let told = flights
            .get(1)
            .and_then(|next| arrivals.get(next.first))
            .and_then(|arrival| arrival.heard.segments());
        let most = self.exchange.first_window();
        let full = most - most / 10;
        match told {
            Some(segments) => segments >= full,
            None => first.bytes >= full * self.exchange.segment(),
        }
    }

    /// The last flight brings the rest: after a pause any size will do, and so without one if the
    /// flights before it have grown twice.
    fn may_be_the_rest(&self, last: &Flight, windows: usize) -> bool {
        last.gap >= SHORTEST_PAUSE * self.rtt || windows >= 2
    }

    /// Books the time before an arrival, `missed` of which something was missing that had been sent
    /// before; returns whether the stream had stopped there.
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
        // What a loss delayed, no window did.
        let window = window.filter(|_| lost < (SHORTEST_PAUSE * self.rtt).min(f64::MAX));
        if let Some(window) = window {
            self.transfer.windows.push(FullWindow {
                after_loss: self.lossy,
                ..window
            });
            self.round_trips += 1;
            let late = gap - self.rtt;
            if late <= self.spread.max(ON_TIME * self.rtt) {
                self.waited.network += gap;
            } else {
                split(self.exchange, gap, &mut self.waited);
            }
            return true;
        }
        let gap = self.unread(gap, heard);
        match self.stop(gap, heard, next) {
            Stop::Timeout => self.waited.loss += gap,
            Stop::Sender if self.lossy && gap <= RECOVERY * self.rtt => {
                self.waited.network += gap;
                self.transfer.recovery += gap;
            }
            Stop::Line | Stop::Window => {
                self.waited.network += gap;
                // While a window recovers, small pauses are its.
                let recovering = self.lossy && gap >= 1.0;
                if recovering {
                    self.transfer.recovery += gap;
                }
                return lost > 0.0 || recovering;
            }
            Stop::Sender => {
                self.waited.server += gap;
                let after = self.transfer.bytes;
                self.transfer.pauses.push(Pause { ms: gap, after });
            }
        }
        true
    }

    /// Why nothing came for `gap`, if no window stopped the sender.
    fn stop(&self, gap: f64, heard: &Evidence, next: Option<u64>) -> Stop {
        // Such a short pause is attributed to nobody.
        if gap < (SHORTEST_PAUSE * self.rtt).min(f64::MAX) || gap < 1.0 || gap <= self.spread {
            return Stop::Line;
        }
        if heard.segments().is_some() {
            match heard.stop(self.exchange, gap, self.rtt) {
                Stop::Window => Stop::Line,
                // After a time-out the window is one segment.
                Stop::Timeout
                    if next
                        .is_some_and(|next| next > MAX_AFTER_TIMEOUT * self.exchange.segment()) =>
                {
                    Stop::Sender
                }
                other => other,
            }
        } else {
            Stop::Sender
        }
    }

    /// A silence while the client did not read is its own, up to where its window had opened again.
    fn unread(&mut self, gap: f64, heard: &Evidence) -> f64 {
        let unread = heard.not_reading();
        if unread < UNREAD * gap {
            return gap;
        }
        self.waited.client += gap;
        0.0
    }

    /// From the last byte to the end: the client's time, unless the exchange failed while it waited.
    fn trailing(&mut self, last: Moment, end: Moment, heard: &Evidence) {
        let gap = ms(end.since(last));
        let starved = self.exchange.failure.is_some() && end == self.exchange.timeline.end();
        if !starved {
            self.waited.client += gap;
        } else if let Some(opened) = heard.gap_opened() {
            let missing = ms(end.since(opened.max(last)));
            self.waited.loss += missing;
            self.waited.server += gap - missing;
        } else {
            self.waited.server += gap;
        }
    }

    fn is_telling(&self) -> bool {
        self.rtt.is_finite() && self.rtt >= ms(SHORTEST_TELLING_RTT)
    }
}
