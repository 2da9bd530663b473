//! The last two minutes in steps of a second, for the charts.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use roundtrip_model::Histogram;

use crate::record::{Snapshot, StatusClass, Timer};

/// Points in a chart.
pub(super) const MAX_POINTS: usize = 120;
/// The number of points that count as "now".
const RECENT_POINTS: usize = 10;
/// Points closer to each other are dropped: a rate over such a short time means nothing.
const MIN_INTERVAL: Duration = Duration::from_millis(200);

/// The events between two samples, about a second apart.
#[derive(Debug, Clone, Default)]
pub(super) struct IntervalCounts {
    pub(super) seconds: f64,
    pub(super) requests: u64,
    pub(super) errors: u64,
    pub(super) saved: u64,
    pub(super) avoided: u64,
    /// Each of these pairs contains a total, and the number of good ones.
    pub(super) handshakes: (u64, u64),
    pub(super) early: (u64, u64),
    pub(super) carried: (u64, u64),
    pub(super) sessions: (u64, u64),
    /// The number of answers by status class.
    pub(super) classes: [u64; StatusClass::COUNT],
    /// The time that gate added, the wait for the backend, and the whole time. `None` if nothing
    /// happened.
    pub(super) added: Option<Quantiles>,
    pub(super) backend: Option<Quantiles>,
    pub(super) whole: Option<Quantiles>,
}

/// Durations in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantiles {
    pub(super) median: f64,
    pub(super) p99: f64,
}

/// The timers whose quantiles the page shows.
const TIMERS: [Timer; 3] = [Timer::Added, Timer::Backend, Timer::Whole];

#[derive(Debug, Default)]
pub(super) struct History {
    points: VecDeque<IntervalCounts>,
    /// The durations as counted at the last samples, one entry for each.
    timed: VecDeque<[Histogram; TIMERS.len()]>,
    before: Option<(Instant, Snapshot)>,
}

impl History {
    pub(super) fn look(&mut self, now: Instant, snapshot: Snapshot) {
        if let Some((then, before)) = &self.before {
            let passed = now.saturating_duration_since(*then);
            if passed < MIN_INTERVAL {
                return;
            }
            let point = between(before, &snapshot, passed.as_secs_f64());
            push(&mut self.points, point, MAX_POINTS);
        }
        push(&mut self.timed, timed(&snapshot), RECENT_POINTS + 1);
        self.before = Some((now, snapshot));
    }

    /// The oldest first.
    pub(super) fn points(&self) -> impl ExactSizeIterator<Item = &IntervalCounts> {
        self.points.iter()
    }

    /// The last ten seconds together.
    pub(super) fn lately(&self) -> IntervalCounts {
        let mut sum = self.sum(RECENT_POINTS);
        if let (Some(first), Some(last)) = (self.timed.front(), self.timed.back()) {
            [sum.added, sum.backend, sum.whole] = quantiles(first, last);
        }
        sum
    }

    pub(super) fn minute(&self) -> IntervalCounts {
        self.sum(60)
    }

    fn sum(&self, points: usize) -> IntervalCounts {
        let mut sum = IntervalCounts::default();
        let both = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
        for point in self.points.iter().rev().take(points) {
            sum.seconds += point.seconds;
            sum.requests += point.requests;
            sum.errors += point.errors;
            sum.saved += point.saved;
            sum.avoided += point.avoided;
            sum.handshakes = both(sum.handshakes, point.handshakes);
            sum.early = both(sum.early, point.early);
            sum.carried = both(sum.carried, point.carried);
            sum.sessions = both(sum.sessions, point.sessions);
            let classes = sum.classes.iter_mut().zip(point.classes);
            classes.for_each(|(sum, more)| *sum += more);
        }
        sum
    }
}

impl IntervalCounts {
    pub(super) fn rate(&self, count: u64) -> f64 {
        if self.seconds > 0.0 {
            count as f64 / self.seconds
        } else {
            0.0
        }
    }
}

impl Quantiles {
    pub(super) fn from_histogram(histogram: &Histogram) -> Option<Self> {
        let ms = |share| histogram.quantile(share).as_secs_f64() * 1e3;
        (histogram.total() > 0).then(|| Self {
            median: ms(0.5),
            p99: ms(0.99),
        })
    }
}

fn timed(snapshot: &Snapshot) -> [Histogram; TIMERS.len()] {
    TIMERS.map(|timer| snapshot.timer(timer).histogram.clone())
}

fn quantiles(
    before: &[Histogram; TIMERS.len()],
    now: &[Histogram; TIMERS.len()],
) -> [Option<Quantiles>; TIMERS.len()] {
    let mut before = before.iter();
    now.each_ref()
        .map(|now| Quantiles::from_histogram(&now.since(before.next()?)))
}

fn push<T>(queue: &mut VecDeque<T>, value: T, most: usize) {
    if queue.len() >= most {
        queue.pop_front();
    }
    queue.push_back(value);
}

fn between(before: &Snapshot, now: &Snapshot, seconds: f64) -> IntervalCounts {
    let more = |count: fn(&Snapshot) -> u64| count(now).saturating_sub(count(before));
    let both = |count: fn(&Snapshot) -> (u64, u64)| {
        let (now, before) = (count(now), count(before));
        (
            now.0.saturating_sub(before.0),
            now.1.saturating_sub(before.1),
        )
    };
    let [added, backend, whole] = quantiles(&timed(before), &timed(now));
    let mut classes = now.classes();
    let earlier = classes.iter_mut().zip(before.classes());
    earlier.for_each(|(now, before)| *now = now.saturating_sub(before));
    IntervalCounts {
        seconds,
        requests: more(Snapshot::requests),
        errors: more(Snapshot::errors),
        saved: more(Snapshot::saved),
        avoided: more(Snapshot::avoided),
        handshakes: both(Snapshot::handshakes),
        early: both(Snapshot::early_handshakes),
        carried: both(Snapshot::carried),
        sessions: both(Snapshot::sessions),
        classes,
        added,
        backend,
        whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Entry, Ledgers, Protocol};

    fn ask(book: &Ledgers, times: u64, took: Duration) {
        let began = Instant::now();
        let entry = Entry::new(began, Protocol::H1, false);
        (0..times).for_each(|_| book.ledger(0).record(&entry, began + took));
    }

    #[test]
    fn a_point_is_what_came_since_the_last() {
        let (book, mut history, began) = (Ledgers::new(1), History::default(), Instant::now());
        let second = |n| began + Duration::from_secs(n);
        ask(&book, 50, Duration::from_millis(500));
        history.look(second(0), book.snapshot());
        assert_eq!(history.points().len(), 0, "nothing to compare with");
        ask(&book, 6, Duration::from_millis(2));
        history.look(second(2), book.snapshot());
        history.look(second(2), book.snapshot());
        let point = history.points().next().unwrap();
        assert_eq!((point.requests, history.points().len()), (6, 1));
        assert!((point.rate(point.requests) - 3.0).abs() < 1e-9);
        // Earlier events do not count.
        let added = point.added.unwrap();
        assert!((2.0..2.2).contains(&added.p99), "{added:?}");
        assert_eq!(history.lately().added, point.added);
        assert_eq!(IntervalCounts::default().rate(0).to_bits(), 0);
    }

    #[test]
    fn the_history_is_bounded() {
        let (book, mut history, began) = (Ledgers::new(1), History::default(), Instant::now());
        for n in 0..3 * MAX_POINTS as u64 {
            ask(&book, n, Duration::ZERO);
            history.look(began + Duration::from_secs(n), book.snapshot());
        }
        assert_eq!(history.points().len(), MAX_POINTS);
        assert_eq!(history.timed.len(), RECENT_POINTS + 1);
        let last = 3 * MAX_POINTS as u64 - 1;
        assert_eq!(history.points().last().unwrap().requests, last);
        assert_eq!(history.minute().requests, (last - 59..=last).sum::<u64>());
    }
}
