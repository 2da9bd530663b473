//! Follows an answer from its first bytes to its last, and attributes each pause to the sender's
//! window, the line, a loss, or the server.
//!
//! The bytes are divided into flights, each one round trip after the one before. A window stopped a
//! flight if the next flight began just one round trip later and the evidence agrees: the flight
//! filled the window and broke off, or the flights grow, as they do while a window grows. The
//! result does not depend on whether the sender paces its segments and thus leaves gaps within
//! flights.

mod pauses;
mod windows;

use std::time::Duration;

use super::evidence::{Evidence, FASTEST_COPY, StallReason};
use super::flights::{self, Flight};
use super::pause::{Pause, PauseReason};
use super::steady::{self, PathTimes, SteadyStretch};
use super::waiting::{self, split};
use super::{line, measurable, ms, rtt_ms};
use crate::{EarlyData, Event, Exchange, Moment, Task, Waited};

/// How far from a whole round trip the next flight of a window may begin, in round trips and
/// milliseconds. The client acknowledges within a millisecond, and the path varies.
const ON_TIME: f64 = 0.15;
const ON_TIME_MS: f64 = 2.0;
/// In milliseconds: how long a path about which nothing is known may pause, as a radio does that
/// saves power for three beacons (IEEE 802.11: 102.4 ms each).
const RADIO_MS: f64 = 3.0 * 102.4;
/// In bytes: smaller QUIC datagrams may carry only an acknowledgement.
const MIN_CONTENT: u64 = 64;
/// In round trips: shorter pauses are attributed to the line.
const MIN_PAUSE: f64 = 0.5;
/// In round trips: shorter pauses after a loss belong to the recovery of the sender's window.
const RECOVERY: f64 = 1.2;
/// Bytes that become readable within this time of each other were waiting behind one hole.
const TOGETHER: Duration = Duration::from_millis(1);
/// The time that a line takes for each byte varies by at most this factor.
const SLACK_OF_PACE: f64 = 1.1;
/// A shorter write to the client's own output delays nothing.
const LONG_WRITE: Duration = Duration::from_millis(5);
/// A client that did not read for this share of a silence had closed its window.
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
    /// Whether the client's own receive window had no more room.
    pub own: bool,
    /// Something smaller than the congestion window stopped the sender, such as its send buffer.
    pub limited: bool,
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
    /// (Continue) answers only the request's head, if the client waited for it.
    pub(super) fn answered_after_interim(&self) -> Option<Moment> {
        let http = self.http.as_ref()?;
        let asked = http.continue_wait.is_some();
        let told = http.interim.iter().any(|status| *status != 100 || !asked);
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

/// Whether the request left with the first packet, in a SYN or in QUIC's early data: the answer
/// came with the first sample of the path.
fn saved_a_trip(exchange: &Exchange) -> bool {
    let opened = tcp_fast_open(exchange) || quic_early_data(exchange);
    opened && !exchange.reused
}

fn tcp_fast_open(exchange: &Exchange) -> bool {
    let tcp = exchange.tcp.as_ref();
    tcp.is_some_and(|tcp| tcp.fast_open.data_acked > 0)
}

fn quic_early_data(exchange: &Exchange) -> bool {
    let tls = exchange.tls.as_ref().filter(|_| exchange.quic.is_some());
    tls.is_some_and(|tls| tls.early_data == EarlyData::Accepted)
}

/// The times of long writes of the client to its own output, over QUIC.
fn long_writes(exchange: &Exchange) -> Vec<(Moment, Moment)> {
    let over_quic = exchange.quic.is_some();
    let events = exchange.timeline.iter().filter(|_| over_quic);
    let writes = events.filter_map(|(at, event)| match event {
        Event::Worked {
            task: Task::Write,
            took,
        } if *took >= LONG_WRITE => Some((*at - *took, *at)),
        _ => None,
    });
    writes.collect()
}

struct BodyAnalysis<'a> {
    exchange: &'a Exchange,
    rtt: f64,
    spread: f64,
    most: f64,
    tolerance: f64,
    /// In milliseconds: how late the next flight may be because of the path, however few samples
    /// there are; and how late any later flight may be.
    possible: f64,
    possible_later: f64,
    /// The longest pause, in milliseconds, because of a window behind something nearer.
    beyond: f64,
    round_trips: u32,
    waited: Waited,
    transfer: BodyTransfer,
    /// A segment has been missing.
    lossy: bool,
    /// The milliseconds that the line needed for each byte before that, if it was busy.
    pace: Option<f64>,
    /// The number of bytes that arrived last and may be part of the answer.
    last: u64,
    /// When the client wrote to its own output for long, and acknowledged nothing over QUIC.
    writes: Vec<(Moment, Moment)>,
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
                // The round trip itself may have been an exception: its only sample came with the
                // answer.
                0 | 1 if saved_a_trip(exchange) => spread.most().max(RADIO_MS),
                _ => spread.most_in_answer(),
            },
            tolerance: spread.tolerance(),
            possible: spread.most(),
            possible_later: spread.most_later(),
            beyond: exchange.longest_pause_beyond(),
            round_trips: 0,
            waited: Waited::default(),
            transfer: BodyTransfer::default(),
            lossy: false,
            pace: None,
            last: 0,
            writes: long_writes(exchange),
        };
        if pauses::have_a_clock(&arrivals, exchange.segment()) {
            (body.most, body.tolerance) = (0.0, 0.0);
        }
        let last = arrivals.last().map_or(start, |a| a.at);
        body.follow(start, &arrivals);
        body.trailing(last, end, &after);
        body
    }

    fn follow(&mut self, start: Moment, arrivals: &[Arrival]) {
        let begun = flights::begun(&self.exchange.timeline, start, self.rtt);
        let flights = if self.is_measurable() {
            flights::divide(begun, arrivals, self.rtt)
        } else {
            Vec::new()
        };
        let mut windows = self.windows(&flights, arrivals).into_iter().peekable();
        let mut flights = flights.into_iter().peekable();
        // Over TCP, data that fills a hole sooner than its sender can have heard of it was only
        // overtaken.
        let soonest = match self.exchange.quic {
            Some(_) => 0.0,
            None => FASTEST_COPY * self.rtt,
        };
        let overtaken = |took: f64| took < soonest;
        let holes = holes(arrivals).filter(|(open, filled)| !overtaken(ms(filled.since(*open))));
        let mut holes = holes.collect::<Vec<_>>().into_iter().peekable();
        let mut last = start;
        let mut stretches = Vec::new();
        let mut steady = SteadyStretch::default();
        for (n, arrival) in arrivals.iter().enumerate() {
            let gap = ms(arrival.at.since(last));
            let window = windows.next_if(|(first, _)| *first == n);
            // The first flight began earlier.
            flights.next_if(|f| f.first < n);
            let next = flights.next_if(|f| f.first == n).map(|f| f.bytes);
            let was_overtaken = arrival.heard.overtaken().is_some_and(overtaken);
            if !self.lossy && arrival.heard.has_gap() && !was_overtaken {
                self.lossy = true;
                stretches.push(std::mem::take(&mut steady));
                let (bytes, took) = self.steady(&stretches);
                self.pace = (bytes > 0).then(|| took / bytes as f64);
            }
            while holes.next_if(|(_, filled)| *filled < arrival.at).is_some() {}
            let missed = holes.peek().map_or(0.0, |(open, _)| {
                let open = ms(arrival.at.since(*open));
                // Over QUIC, data that was sent before the sender could learn of the loss can be
                // read.
                let due = match self.exchange.quic {
                    Some(_) if arrival.bytes >= MIN_CONTENT => open - self.rtt,
                    _ => open,
                };
                due.clamp(0.0, gap)
            });
            // Behind a hole, the line went on with the data that can be read now.
            let together = arrivals.iter().skip(n);
            let together = together.take_while(|a| a.at.since(arrival.at) < TOGETHER);
            let carried = self.pace.map_or(0.0, |pace| {
                let bytes: u64 = together.map(|arrival| arrival.bytes).sum();
                (SLACK_OF_PACE * pace * bytes as f64).min(gap)
            });
            let window = window.map(|(_, window)| window);
            if self.step(gap, (missed, carried), arrival, window, next) {
                stretches.push(std::mem::take(&mut steady));
                steady.push(carried, arrival.bytes);
            } else {
                steady.push(gap, arrival.bytes);
            }
            self.transfer.bytes += arrival.bytes;
            if self.exchange.quic.is_none() || arrival.bytes >= MIN_CONTENT {
                self.last = arrival.bytes;
            }
            last = arrival.at;
        }
        stretches.push(steady);
        self.transfer.steady = self.steady(&stretches);
    }

    fn steady(&self, stretches: &[SteadyStretch]) -> (u64, f64) {
        let path = PathTimes {
            rtt: self.rtt,
            spread: self.spread,
            // The path does not make equal distances.
            possible: match line::pace_of_line(self.exchange) {
                Some(_) => 0.0,
                None => self.possible,
            },
        };
        steady::carried(stretches, self.exchange.segment(), path)
    }

    /// Attributes the time before an arrival; during `missed` of it, an earlier segment was
    /// missing, and during `carried` of it, the line was busy nevertheless. Returns whether the
    /// stream had stopped there.
    fn step(
        &mut self,
        gap: f64,
        (missed, carried): (f64, f64),
        arrival: &Arrival,
        window: Option<FullWindow>,
        next: Option<u64>,
    ) -> bool {
        let heard = &arrival.heard;
        let lost = heard.loss(self.exchange, gap, arrival.at).max(missed);
        let lost = (lost - carried).max(0.0);
        self.waited.loss += lost;
        self.waited.network += carried;
        let gap = (gap - lost - carried).max(0.0);
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
            if window.grew || late <= self.spread.max(ON_TIME * self.rtt) {
                self.waited.network += gap;
            } else {
                split(self.exchange, gap, &mut self.waited);
            }
            return true;
        }
        let gap = self.unread(gap, arrival);
        let after = self.transfer.bytes;
        let pause = |ms, doubtful| Pause {
            ms,
            after,
            doubtful,
            departed: heard.departed().is_some(),
        };
        let own = pauses::between_departures(gap, heard);
        match self.why(gap, arrival, next) {
            PauseReason::Timeout => self.waited.loss += gap,
            PauseReason::Sender { .. } if self.lossy && gap <= RECOVERY * self.rtt => {
                self.waited.network += gap;
                self.transfer.recovery += gap;
            }
            PauseReason::Path => {
                self.waited.network += gap;
                self.transfer.stalls.push(pause(gap, false));
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
                self.waited.network += gap - own;
                self.waited.server += own;
                self.transfer.pauses.push(pause(own, !is_certain));
            }
        }
        true
    }

    /// A silence while the client did not read is attributed to the client, until its window had
    /// opened again.
    fn unread(&mut self, gap: f64, arrival: &Arrival) -> f64 {
        let began = arrival.at - Duration::from_secs_f64(gap / 1e3);
        // What arrived during a write was read after it.
        let writing = self.writes.iter().map(|(from, until)| {
            let (from, until) = ((*from).max(began), (*until).min(arrival.at));
            ms(until.since(from))
        });
        let unread = arrival.heard.not_reading().max(writing.sum());
        if unread < UNREAD * gap {
            return gap;
        }
        self.waited.client += gap;
        0.0
    }

    /// If the client does not run, its window opens later by that time, which is attributed to the
    /// client. Over TCP, the kernel acknowledges meanwhile.
    fn unacknowledged(&mut self, gap: f64, heard: &Evidence) -> f64 {
        let late = (gap - self.rtt).max(0.0);
        let absent = match self.exchange.quic {
            Some(_) => heard.not_running().min(late),
            None => 0.0,
        };
        self.waited.client += absent;
        gap - absent
    }

    /// The time from the last byte to the end belongs to the client, unless it waited for the end
    /// of the server's stream, or the exchange failed while it waited.
    fn trailing(&mut self, last: Moment, end: Moment, heard: &Evidence) {
        let ended = heard.ended().filter(|_| self.exchange.failure.is_none());
        if let Some(at) = ended {
            let arrival = Arrival {
                at,
                bytes: 0,
                heard: *heard,
            };
            self.step(ms(at.since(last)), (0.0, 0.0), &arrival, None, None);
        }
        let last = ended.unwrap_or(last);
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

    fn is_measurable(&self) -> bool {
        measurable::has_measurable_flights(self.exchange)
    }
}
