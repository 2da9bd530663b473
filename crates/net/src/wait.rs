//! Interprets the kernel's counters after a wait: whether data was sent again, whether segments
//! arrived out of order, and how large the flight before a pause was. Reads neither socket nor
//! clock; `socket` does, and passes both in.

use std::time::Duration;

use roundtrip_model::{Event, Moment};

/// Shorter pauses are attributed to the scheduler.
const MIN_PAUSE: Duration = Duration::from_millis(1);
/// Segments that are out of order by less than this count as arriving together.
const MIN_OVERTAKEN: Duration = Duration::from_millis(2);

/// The counters of `TCP_INFO` that describe waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct WaitCounters {
    pub(crate) resent: u32,
    /// Segments sent again that had arrived the first time, as the peer reports (RFC 2883).
    pub(crate) needless: u32,
    pub(crate) out_of_order: u32,
    /// The total time in which data was unacknowledged.
    pub(crate) busy: Duration,
    /// Segments with data that arrived.
    pub(crate) segments: u32,
    /// Contiguous bytes that arrived; bytes behind a gap do not count.
    pub(crate) bytes: u64,
    /// The amount of data in a full segment of the peer.
    pub(crate) full: u32,
    /// The number of acknowledgements that left without data.
    pub(crate) acks: u32,
    pub(crate) rtt: Duration,
    /// The receive window that was last announced to the peer, if the kernel reports it.
    pub(crate) window: Option<u64>,
}

/// Follows a connection from one arrival to the next, in the clock's own time.
#[derive(Debug, Default)]
pub(crate) struct WaitTracker {
    /// The counters at the last arrival that ended a wait.
    judged: WaitCounters,
    /// The counters at the beginning of the arriving flight.
    flight: WaitCounters,
    /// The time when the socket was last found empty.
    dry: Option<(Moment, WaitCounters)>,
    last_arrival: Option<Moment>,
}

/// An arrival that ended a wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AwaitedArrival {
    pub(crate) now: Moment,
    /// The arrival times of the first, the second and the last segment that were read.
    pub(crate) first: Option<Moment>,
    pub(crate) second: Option<Moment>,
    pub(crate) last: Option<Moment>,
}

impl WaitTracker {
    /// Notes that the connection is open; the cost of the SYN is reported elsewhere.
    pub(crate) fn opened(&mut self, counters: WaitCounters) {
        self.judged = counters;
        self.flight = counters;
    }

    /// Whether segments have arrived out of order since that was last reported.
    pub(crate) fn has_a_gap(&self, counters: WaitCounters) -> bool {
        counters.out_of_order > self.judged.out_of_order
    }

    /// The time since which the bytes could be read. Bytes behind a gap can be read only once it is
    /// filled.
    pub(crate) fn readable_since(&self, arrival: AwaitedArrival, counters: WaitCounters) -> Moment {
        time_of(arrival, self.has_a_gap(counters))
    }

    /// Notes that there is nothing to read.
    pub(crate) fn ran_dry(&mut self, now: Moment, counters: WaitCounters) {
        self.dry = Some((now, counters));
    }

    /// The time when the data first arrived, and the events of the wait for it. A pause is recorded
    /// at the time when the last bytes arrived.
    pub(crate) fn ended(
        &mut self,
        arrival: AwaitedArrival,
        counters: WaitCounters,
    ) -> (Moment, Vec<(Moment, Event)>) {
        let overtaken = counters
            .out_of_order
            .saturating_sub(self.judged.out_of_order);
        let at = time_of(arrival, overtaken > 0);
        let mut events = Vec::new();
        events.extend(self.pause(at, counters));
        let late = self.late(arrival, at);
        let mut judged = counters;
        if overtaken > 0 && late >= MIN_OVERTAKEN && !self.is_gap_open(overtaken, counters) {
            let event = Event::Overtaken {
                segments: overtaken,
                late,
            };
            events.push((at, event));
        } else {
            // The segments that they have overtaken have not arrived.
            judged.out_of_order = self.judged.out_of_order;
        }
        let again = counters.resent.saturating_sub(self.judged.resent);
        let needless = counters.needless.saturating_sub(self.judged.needless);
        if again > needless {
            let event = Event::Resent {
                segments: again - needless,
                unacked: counters.busy.saturating_sub(self.judged.busy),
            };
            events.push((at, event));
        }
        self.judged = judged;
        self.last_arrival = Some(at);
        (at, events)
    }

    /// Whether the overtaken segments are still missing. If so, exactly the other segments can be
    /// read.
    fn is_gap_open(&self, overtaken: u32, counters: WaitCounters) -> bool {
        let came = counters.segments.saturating_sub(self.judged.segments);
        let in_order = u64::from(came.saturating_sub(overtaken));
        let readable = counters.bytes.saturating_sub(self.judged.bytes);
        readable > 0 && readable == in_order * u64::from(counters.full)
    }

    /// Notes further data of the arrival that ended a wait.
    pub(crate) fn went_on(&mut self, at: Moment) {
        self.last_arrival = self.last_arrival.max(Some(at));
    }

    /// How long some segment had to wait before it could be read: its timestamp is the earliest.
    fn late(&self, arrival: AwaitedArrival, at: Moment) -> Duration {
        let stamps = [arrival.first, arrival.second, arrival.last];
        let stamps = stamps.into_iter().flatten();
        let earliest = stamps.min().unwrap_or(at);
        at.since(earliest.max(self.last_arrival.unwrap_or_default()))
    }

    /// The flight before this arrival, if it ended with a pause.
    fn pause(&mut self, at: Moment, counters: WaitCounters) -> Vec<(Moment, Event)> {
        let Some((last, (_, dry))) = self.last_arrival.zip(self.dry) else {
            return Vec::new();
        };
        if at.since(last) < shortest_pause(counters) {
            return Vec::new();
        }
        let event = Event::Paused {
            segments: dry.segments.saturating_sub(self.flight.segments).into(),
            bytes: dry.bytes.saturating_sub(self.flight.bytes),
            // The window that the peer knew when the flight began.
            window: self.flight.window,
        };
        let held = dry.segments > self.flight.segments && dry.acks == self.flight.acks;
        self.flight = dry;
        let mut events = vec![(last, event)];
        events.extend(held.then_some((last, Event::AckDelayed)));
        events
    }
}

fn shortest_pause(counters: WaitCounters) -> Duration {
    MIN_PAUSE.max(counters.rtt / 4)
}

/// The time when an arrival could be read. Segments that overtook others could be read only when
/// the overtaken ones arrived. These have a later timestamp, unless the kernel merged both: it then
/// keeps the earlier timestamp.
fn time_of(arrival: AwaitedArrival, overtaken: bool) -> Moment {
    let first = arrival.first.or(arrival.last);
    let own = !overtaken || arrival.first > arrival.last.min(arrival.second.or(arrival.last));
    first.filter(|_| own).unwrap_or(arrival.now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Moment {
        Moment::from_millis(ms as f64)
    }

    fn counters(segments: u32) -> WaitCounters {
        WaitCounters {
            segments,
            bytes: u64::from(segments) * 1000,
            acks: segments,
            rtt: Duration::from_millis(40),
            ..WaitCounters::default()
        }
    }

    fn arrival(now: u64, first: u64, last: u64) -> AwaitedArrival {
        AwaitedArrival {
            now: at(now),
            first: Some(at(first)),
            second: None,
            last: Some(at(last)),
        }
    }

    #[test]
    fn a_flight_is_counted_when_the_next_one_comes() {
        let mut watch = WaitTracker::default();
        watch.opened(counters(0));
        watch.ran_dry(at(5), counters(0));
        assert_eq!(
            watch.ended(arrival(41, 40, 40), counters(3)),
            (at(40), vec![])
        );
        watch.ran_dry(at(41), counters(3));
        // A short pause does not count.
        assert_eq!(
            watch.ended(arrival(46, 45, 45), counters(10)),
            (at(45), vec![])
        );
        watch.ran_dry(at(46), counters(10));
        let (_, events) = watch.ended(arrival(81, 80, 80), counters(12));
        let flight = Event::Paused {
            segments: 10,
            bytes: 10_000,
            window: None,
        };
        assert_eq!(events, [(at(45), flight)]);
        watch.ran_dry(at(82), counters(30));
        let (_, events) = watch.ended(arrival(122, 121, 121), counters(31));
        let flight = Event::Paused {
            segments: 20,
            bytes: 20_000,
            window: None,
        };
        assert_eq!(events, [(at(80), flight)]);
    }

    #[test]
    fn an_unacknowledged_flight_is_reported_as_such() {
        let mut watch = WaitTracker::default();
        watch.opened(counters(0));
        watch.ended(arrival(41, 40, 40), counters(1));
        let dry = WaitCounters {
            acks: 0,
            ..counters(1)
        };
        watch.ran_dry(at(42), dry);
        let (_, events) = watch.ended(arrival(81, 80, 80), counters(2));
        assert_eq!(events.last(), Some(&(at(40), Event::AckDelayed)));
    }

    #[test]
    fn segments_that_waited_for_others_have_the_others_time() {
        let later = WaitCounters {
            out_of_order: 1,
            ..counters(2)
        };
        // Apart, each has its own timestamp; merged, the kernel keeps the earlier one.
        for (first, expected) in [(90, 90), (50, 91)] {
            let mut watch = WaitTracker::default();
            watch.ran_dry(at(5), counters(0));
            let (came, events) = watch.ended(arrival(91, first, 50), later);
            assert_eq!(came, at(expected));
            let event = Event::Overtaken {
                segments: 1,
                late: came.since(at(50)),
            };
            assert_eq!(events, [(came, event)]);
        }
    }

    #[test]
    fn a_gap_is_reported_when_it_is_filled() {
        let mut watch = WaitTracker::default();
        let overtaken = WaitCounters {
            out_of_order: 3,
            ..counters(6)
        };
        let (_, events) = watch.ended(arrival(41, 40, 40), overtaken);
        assert_eq!(events, []);
        watch.ran_dry(at(42), overtaken);
        let (_, events) = watch.ended(arrival(91, 90, 41), overtaken);
        let event = Event::Overtaken {
            segments: 3,
            late: Duration::from_millis(49),
        };
        assert_eq!(events.last(), Some(&(at(90), event)));
    }

    /// The kernel merged a segment with the retransmission that filled the gap before it, and kept
    /// the time of the first, although it could not be read until then.
    #[test]
    fn a_reader_does_not_miss_what_lies_behind_a_gap() {
        let watch = WaitTracker::default();
        let merged = arrival(16_000, 120, 120);
        let gap = WaitCounters {
            out_of_order: 1,
            ..counters(3)
        };
        assert_eq!(watch.readable_since(merged, gap), at(16_000));
        assert_eq!(watch.readable_since(merged, counters(3)), at(120));
    }

    /// A busy reader takes the segments before the gap late: that fills no gap.
    #[test]
    fn a_gap_is_open_while_only_the_segments_before_it_can_be_read() {
        let mut watch = WaitTracker::default();
        let before = WaitCounters {
            out_of_order: 4,
            bytes: 1448,
            full: 1448,
            ..counters(5)
        };
        let (_, events) = watch.ended(arrival(44, 40, 40), before);
        assert_eq!(events, []);
        watch.ran_dry(at(45), before);
        let after = WaitCounters {
            bytes: 6 * 1448,
            segments: 6,
            ..before
        };
        let (_, events) = watch.ended(arrival(91, 90, 41), after);
        let event = Event::Overtaken {
            segments: 4,
            late: Duration::from_millis(46),
        };
        assert_eq!(events.last(), Some(&(at(90), event)));
    }

    #[test]
    fn needless_retransmissions_are_not_reported() {
        let again = |resent, needless| WaitCounters {
            resent,
            needless,
            busy: Duration::from_millis(120),
            ..counters(1)
        };
        let told = |after: WaitCounters| {
            let mut watch = WaitTracker::default();
            watch.opened(WaitCounters {
                resent: 1,
                busy: Duration::from_millis(20),
                ..WaitCounters::default()
            });
            watch.ended(arrival(91, 90, 90), after).1
        };
        let event = Event::Resent {
            segments: 1,
            unacked: Duration::from_millis(100),
        };
        assert_eq!(told(again(2, 0)), [(at(90), event)]);
        assert_eq!(told(again(2, 1)), []);
        assert_eq!(told(again(1, 0)), [], "this was the SYN");
    }
}
