//! One exchange on a connection while it is under way: what was sent, what arrived, and which
//! arrival was the answer.

use std::time::Duration;

use roundtrip_model::{Event, KeptFacts, Moment};

use crate::client_bytes::PlainRequest;

/// Arrivals within this time of each other are recorded as one.
const CLOSE: Duration = Duration::from_micros(100);
/// The largest number of events of one exchange. Further ones are merged with the last.
const MAX_EVENTS: usize = 20_000;
/// The first bursts decide where the answer begins.
const MAX_BURSTS: usize = 16;
/// The shortest pause between two bursts.
const MIN_PAUSE: Duration = Duration::from_millis(1);
/// Session tickets and settings that a server sends unrequested take at most this much, in bytes.
pub(crate) const MAX_TICKETS: u64 = 1300;
/// An HTTP/2 server's SETTINGS, its acknowledgement of the client's SETTINGS and a WINDOW_UPDATE,
/// each in a separate record, take at most this many bytes.
pub(crate) const MAX_SETTINGS: u64 = 200;
/// The largest size of an encrypted alert, in bytes.
const MAX_ALERT: u64 = 5 + 2 + 24;
/// The largest size, in bytes, of HTTP/2 frames that answer nothing (WINDOW_UPDATE, PING,
/// SETTINGS).
pub(crate) const MAX_CONTROL: u64 = 80;
/// The share of a round trip: data that arrives sooner answers an earlier request.
const SOONEST: f64 = 0.75;
/// The shortest round trip from which an order can be concluded.
const MIN_RTT: Duration = Duration::from_millis(2);

/// The parts of an exchange, in the tap's time.
#[derive(Debug, Default)]
pub(crate) struct ExchangeParts {
    pub(crate) events: Vec<(Moment, Event)>,
    /// The first write of the request.
    pub(crate) request: Option<Moment>,
    pub(crate) asked: Option<PlainRequest>,
    pub(crate) request_bytes: u64,
    bursts: Vec<ArrivalBurst>,
    /// The last write.
    written: Option<Moment>,
    /// The earlier activity of the connection.
    pub(crate) kept: Option<KeptFacts>,
}

/// What arrived after the request without a pause and without another write in between.
#[derive(Debug, Clone, Copy)]
struct ArrivalBurst {
    first: Moment,
    last: Moment,
    bytes: u64,
}

/// What else may arrive before an answer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Expected {
    /// The path's round trip.
    pub(crate) rtt: Option<Duration>,
    /// How many bytes the server may send unprompted before its first answer.
    pub(crate) unasked: u64,
    /// The server may send frames of HTTP/2 by itself.
    pub(crate) frames: bool,
}

/// The positions where the answer begins and ends, and the time at which the whole request had been
/// written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnswerTimes {
    pub(crate) sent: Moment,
    pub(crate) first: Moment,
    pub(crate) last: Moment,
    /// The number of bytes before the answer that were taken for something else.
    pub(crate) before: u64,
    pub(crate) bytes: u64,
}

impl ExchangeParts {
    /// A turn on a connection that was already open.
    pub(crate) fn on_kept(kept: Option<KeptFacts>) -> Self {
        Self {
            kept: Some(kept.unwrap_or_default()),
            ..Self::default()
        }
    }

    pub(crate) fn note(&mut self, at: Moment, event: Event) {
        let is_full = self.events.len() >= MAX_EVENTS;
        if let (Event::Received { bytes }, Some((last, Event::Received { bytes: sum }))) =
            (&event, self.events.last_mut())
            && (is_full || at.since(*last) < CLOSE)
        {
            *sum += bytes;
            if is_full {
                *last = at;
            }
            return;
        }
        if self.events.len() < MAX_EVENTS {
            self.events.push((at, event));
        }
    }

    /// Notes bytes that were written; `is_request` says that they belong to the request.
    pub(crate) fn sent(&mut self, at: Moment, bytes: u64, is_request: bool) {
        self.note(at, Event::Sent { bytes });
        self.written = self.written.max(Some(at));
        if is_request {
            self.request.get_or_insert(at);
        }
        if self.request.is_some() && self.bursts.is_empty() {
            self.request_bytes += bytes;
        }
    }

    /// Notes that the last sent bytes were acknowledged this long after they left, at `now` at the
    /// latest. If data arrived with the acknowledgement, the program learns of it only now.
    pub(crate) fn acknowledged(&mut self, now: Moment, after: Duration, with_data: bool) {
        let mut events = self.events.iter().rev();
        let sent =
            events.find_map(|(at, event)| matches!(event, Event::Sent { .. }).then_some(*at));
        if let Some(sent) = sent {
            // If there were several writes, the kernel sampled the first.
            let at = if with_data {
                now
            } else {
                now.min(sent + after)
            };
            self.note(at, Event::Acknowledged { after, again: None });
        }
    }

    /// Notes bytes that arrived, with the change of the kernel's counters.
    pub(crate) fn received(
        &mut self,
        events: Vec<(Moment, Event)>,
        at: Moment,
        bytes: u64,
        rtt: Option<Duration>,
    ) {
        for (at, event) in events {
            self.note(at, event);
        }
        if self.request.is_none() || bytes == 0 {
            return;
        }
        let pause = MIN_PAUSE.max(rtt.unwrap_or_default() / 8);
        let is_decided = self.bursts.len() >= MAX_BURSTS;
        let written = self.written;
        let goes_on = |burst: &ArrivalBurst| {
            at.since(burst.last) < pause && written.is_none_or(|written| written <= burst.last)
        };
        match self.bursts.last_mut() {
            Some(burst) if is_decided || goes_on(burst) => {
                burst.last = at;
                burst.bytes += bytes;
            }
            _ => self.bursts.push(ArrivalBurst {
                first: at,
                last: at,
                bytes,
            }),
        }
    }

    /// The number of bytes that have arrived since the request.
    pub(crate) fn answer_bytes(&self) -> u64 {
        self.bursts.iter().map(|burst| burst.bytes).sum()
    }

    pub(crate) fn answered(&self, expected: Expected) -> Option<AnswerTimes> {
        let asked = self.request?;
        // The peer's alert at the end is not an answer.
        let is_more = |burst: &&ArrivalBurst| burst.bytes > MAX_ALERT;
        let last = self.bursts.iter().rev().find(is_more);
        let last = last.or(self.bursts.last())?;
        let mut before = 0;
        let mut chosen = last;
        for burst in &self.bursts {
            chosen = burst;
            let sent = self.sent_before(asked, burst.first);
            let is_last = burst.first == last.first;
            if is_last || !is_unasked(burst, sent, before, expected) {
                break;
            }
            before += burst.bytes;
        }
        Some(AnswerTimes {
            sent: self.sent_before(asked, chosen.first),
            first: chosen.first,
            last: last.last,
            before,
            bytes: self.answer_bytes() - before,
        })
    }

    /// When something was last written before `until`, at or after the request.
    pub(crate) fn sent_before(&self, asked: Moment, until: Moment) -> Moment {
        let writes = self.events.iter().filter_map(|(at, event)| {
            (matches!(event, Event::Sent { .. }) && *at <= until).then_some(*at)
        });
        writes.max().map_or(asked, |last| last.max(asked))
    }

    /// When anything last happened.
    pub(crate) fn end(&self) -> Option<Moment> {
        self.events.iter().map(|(at, _)| *at).max()
    }
}

/// Whether the server sent this unrequested. It then came too soon for an answer, or it is as small
/// as such data and more followed after a pause.
fn is_unasked(burst: &ArrivalBurst, sent: Moment, before: u64, expected: Expected) -> bool {
    let rtt = expected.rtt.filter(|rtt| *rtt >= MIN_RTT);
    if rtt.is_some_and(|rtt| burst.first.since(sent) < rtt.mul_f64(SOONEST)) {
        return true;
    }
    let bytes = before + burst.bytes;
    bytes <= expected.unasked || (expected.frames && burst.bytes <= MAX_CONTROL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Moment {
        Moment::from_millis(ms)
    }

    /// A request at 0 ms on a path of 50 ms, and arrivals.
    fn answered(arrivals: &[(f64, u64)], expected: Expected) -> Option<(f64, u64)> {
        let rtt = Some(Duration::from_millis(50));
        let mut turn = ExchangeParts::default();
        turn.sent(at(0.0), 200, true);
        for (ms, bytes) in arrivals {
            let event = Event::Received { bytes: *bytes };
            turn.received(vec![(at(*ms), event)], at(*ms), *bytes, rtt);
        }
        let told = turn.answered(Expected { rtt, ..expected })?;
        Some((told.first.as_millis(), told.bytes))
    }

    #[test]
    fn the_first_arrival_is_the_answer() {
        let plain = Expected::default();
        assert_eq!(answered(&[], plain), None);
        assert_eq!(answered(&[(51.0, 500)], plain), Some((51.0, 500)));
        let two = [(51.0, 500), (90.0, 9000)];
        assert_eq!(answered(&two, plain), Some((51.0, 9500)));
    }

    #[test]
    fn tickets_are_not_an_answer_if_another_follows() {
        let tickets = Expected {
            unasked: MAX_TICKETS,
            ..Expected::default()
        };
        let two = [(51.0, 500), (151.0, 900)];
        assert_eq!(answered(&two, tickets), Some((151.0, 900)));
        assert_eq!(answered(&two[..1], tickets), Some((51.0, 500)));
        let large = [(51.0, 5000), (151.0, 900)];
        assert_eq!(answered(&large, tickets), Some((51.0, 5900)));
    }

    #[test]
    fn what_follows_a_write_at_once_is_told_apart_from_what_came_before_it() {
        // HTTP/2: the server's settings, and after the client's acknowledgement the server's own.
        let mut turn = ExchangeParts::default();
        turn.sent(at(0.0), 78, true);
        turn.received(Vec::new(), at(0.2), 56, None);
        turn.sent(at(0.25), 38, false);
        turn.received(Vec::new(), at(0.7), 51, None);
        turn.received(Vec::new(), at(62.0), 1163, None);
        let told = turn.answered(Expected {
            frames: true,
            ..Expected::default()
        });
        let told = told.map(|told| (told.first.as_millis(), told.bytes));
        assert_eq!(told, Some((62.0, 1163)));
    }

    #[test]
    fn data_that_arrives_too_soon_is_not_the_answer() {
        let early = [(3.0, 4000), (51.0, 900)];
        let told = answered(&early, Expected::default());
        assert_eq!(told, Some((51.0, 900)));
    }

    #[test]
    fn a_turn_is_bounded() {
        let mut turn = ExchangeParts::default();
        turn.sent(at(0.0), 1, true);
        for n in 0..2 * MAX_EVENTS as u64 {
            let now = at(1.0 + n as f64);
            let event = Event::Received { bytes: 1 };
            turn.received(vec![(now, event)], now, 1, None);
        }
        assert!(turn.events.len() <= MAX_EVENTS);
        assert_eq!(turn.answer_bytes(), 2 * MAX_EVENTS as u64);
        let end = at(2.0 * MAX_EVENTS as f64);
        assert_eq!(turn.end(), Some(end));
    }
}
