//! The append-only log of one exchange, and the handle through which every layer writes to it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::{Clock, Event, Moment, Task};

/// Once there are this many facts, bytes that arrive within a short time of each other become one
/// fact.
const MANY_FACTS: usize = 64 * 1024;
const AT_ONCE: Duration = Duration::from_millis(1);

/// Facts in the order of their times.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Timeline {
    entries: Vec<(Moment, Event)>,
}

impl Timeline {
    /// Adds a fact. A fact that is learnt late (such as the kernel's arrival time of bytes that are
    /// read later) is inserted according to its time.
    pub fn push(&mut self, at: Moment, event: Event) {
        let place = self.entries.partition_point(|(t, _)| *t <= at);
        self.entries.insert(place, (at, event));
    }

    /// Adds bytes that follow the last ones at once to the same fact, once there are many facts: a
    /// body can be endless.
    fn joins(&mut self, at: Moment, event: &Event) -> bool {
        let many = self.entries.len() >= MANY_FACTS;
        if many
            && let Event::Received { bytes: more } = event
            && let Some((last, Event::Received { bytes })) = self.entries.last_mut()
            && at >= *last
            && at.since(*last) < AT_ONCE
        {
            *bytes += more;
            *last = at;
            return true;
        }
        false
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &(Moment, Event)> + Clone {
        self.entries.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The time of the first fact for which `is` holds.
    pub fn first(&self, is: impl Fn(&Event) -> bool) -> Option<Moment> {
        self.entries.iter().find(|(_, e)| is(e)).map(|(t, _)| *t)
    }

    /// The time of the last fact for which `is` holds.
    pub fn last(&self, is: impl Fn(&Event) -> bool) -> Option<Moment> {
        self.entries
            .iter()
            .rev()
            .find(|(_, e)| is(e))
            .map(|(t, _)| *t)
    }

    /// The time of the last fact at `end` or before for which `is` holds.
    fn last_until(&self, end: Moment, is: impl Fn(&Event) -> bool) -> Option<Moment> {
        let place = self.entries.partition_point(|(t, _)| *t <= end);
        let earlier = self.entries.get(..place).unwrap_or_default();
        earlier.iter().rev().find(|(_, e)| is(e)).map(|(t, _)| *t)
    }

    /// The end of the exchange: its `Finished`, or the last fact.
    pub fn end(&self) -> Moment {
        self.last(|e| *e == Event::Finished)
            .or(self.entries.last().map(|(t, _)| *t))
            .unwrap_or_default()
    }

    /// The facts at `began` and later.
    #[must_use]
    pub fn since(&self, began: Moment) -> Self {
        let place = self.entries.partition_point(|(t, _)| *t < began);
        let entries = self.entries.get(place..).unwrap_or_default().to_vec();
        Self { entries }
    }

    /// How long the client computed, by task, in order of first appearance.
    pub fn work(&self) -> Vec<(Task, Duration)> {
        let mut sums: Vec<(Task, Duration)> = Vec::new();
        for (_, event) in &self.entries {
            let Event::Worked { task, took } = event else {
                continue;
            };
            match sums.iter_mut().find(|(t, _)| t == task) {
                Some((_, sum)) => *sum += *took,
                None => sums.push((*task, *took)),
            }
        }
        sums
    }
}

/// A shared handle: net, tls and http write to the same timeline with the same clock. A connection
/// keeps its handle; for its next exchange, the handle gets an empty timeline.
#[derive(Clone)]
pub struct Recorder {
    clock: Arc<dyn Clock>,
    /// The sheet that this handle writes to; a winning branch is redirected to the sheet that it
    /// branched from.
    slot: Arc<Mutex<Arc<Mutex<Sheet>>>>,
}

#[derive(Default)]
struct Sheet {
    zero: Moment,
    timeline: Timeline,
    /// The recorder keeps at most twice this number of facts.
    most: Option<usize>,
}

impl Sheet {
    fn new(zero: Moment) -> Self {
        Self {
            zero,
            ..Self::default()
        }
    }

    fn push(&mut self, at: Moment, event: Event) {
        if self.timeline.joins(at, &event) {
            return;
        }
        self.timeline.push(at, event);
        // Half is removed at a time, so that each fact is moved at most once.
        let entries = &mut self.timeline.entries;
        if let Some(most) = self.most.filter(|most| entries.len() > 2 * most) {
            entries.drain(..entries.len() - most);
        }
    }
}

impl Recorder {
    /// Makes a recorder whose time begins now.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let recorder = Self {
            clock,
            slot: Arc::default(),
        };
        recorder.restart();
        recorder
    }

    /// Removes all facts; time begins again.
    pub fn restart(&self) {
        let zero = self.clock.now();
        self.with(|sheet| *sheet = Sheet::new(zero));
    }

    /// When time began, by the clock.
    pub fn zero(&self) -> Moment {
        self.with(|sheet| sheet.zero)
    }

    /// From now on, keeps only the latest facts, at least this many: for a connection that carries
    /// requests without end.
    pub fn keep_last(&self, most: usize) {
        self.with(|sheet| sheet.most = Some(most.max(1)));
    }

    /// A handle with a separate sheet and the same start of time: for one of several simultaneous
    /// attempts, or for another attempt after one failed.
    #[must_use]
    pub fn branch(&self) -> Self {
        let sheet = Sheet::new(self.zero());
        Self {
            clock: self.clock.clone(),
            slot: Arc::new(Mutex::new(Arc::new(Mutex::new(sheet)))),
        }
    }

    /// Takes over the branch that won: the facts that it has recorded and will record.
    pub fn absorb(&self, branch: &Self) {
        let written = branch.snapshot();
        self.with(|sheet| {
            for (at, event) in written.entries {
                sheet.push(at, event);
            }
        });
        let ours = lock(&self.slot).clone();
        *lock(&branch.slot) = ours;
    }

    pub fn now(&self) -> Moment {
        Moment::ZERO + self.clock.now().since(self.zero())
    }

    /// The clock's time, which continues when the recorder restarts its own time.
    pub fn clock(&self) -> Moment {
        self.clock.now()
    }

    pub fn record(&self, event: Event) {
        self.record_at(self.now(), event);
    }

    pub fn record_at(&self, at: Moment, event: Event) {
        self.with(|sheet| sheet.push(at, event));
    }

    /// Records facts about the last received bytes, at the time of their arrival.
    pub fn record_arrival(&self, event: Event) {
        self.record_beside(event, |e| matches!(e, Event::Received { .. }));
    }

    /// Records facts about the last sent bytes, at the time of their departure.
    pub fn record_departure(&self, event: Event) {
        self.record_beside(event, |e| matches!(e, Event::Sent { .. }));
    }

    /// Records facts about the first bytes sent since `began`; later bytes may only be
    /// acknowledgements.
    pub fn record_first_departure(&self, began: Moment, event: Event) {
        let now = self.now();
        self.with(|sheet| {
            let left = |entry: &&(Moment, Event)| {
                entry.0 >= began && matches!(entry.1, Event::Sent { .. })
            };
            let at = sheet.timeline.iter().find(left).map_or(now, |e| e.0);
            sheet.push(at, event);
        });
    }

    /// Records a fact about the pause that the last received bytes ended, if there was one.
    pub fn record_of_pause(&self, event: Event) {
        self.with(|sheet| {
            let mut arrivals = 0;
            let mut pause = None;
            for (at, told) in sheet.timeline.iter().rev() {
                match told {
                    Event::Paused { .. } => {
                        pause = Some(*at);
                        break;
                    }
                    Event::Received { .. } if arrivals > 0 => break,
                    Event::Received { .. } => arrivals += 1,
                    _ => {}
                }
            }
            if let Some(at) = pause {
                sheet.timeline.push(at, event);
            }
        });
    }

    fn record_beside(&self, event: Event, bytes: impl Fn(&Event) -> bool) {
        let now = self.now();
        self.with(|sheet| {
            let at = sheet.timeline.last(bytes).unwrap_or(now);
            sheet.push(at, event);
        });
    }

    /// Runs `work` and records how long it took.
    pub fn timed<T>(&self, task: Task, work: impl FnOnce() -> T) -> T {
        let began = self.now();
        let out = work();
        let now = self.now();
        self.record_at(
            now,
            Event::Worked {
                task,
                took: now.since(began),
            },
        );
        out
    }

    /// Returns a copy of the facts so far.
    pub fn snapshot(&self) -> Timeline {
        self.with(|sheet| sheet.timeline.clone())
    }

    /// A copy of the facts at `began` and later.
    pub fn since(&self, began: Moment) -> Timeline {
        self.with(|sheet| sheet.timeline.since(began))
    }

    /// The time of the last fact for which `is` holds.
    pub fn last(&self, is: impl Fn(&Event) -> bool) -> Option<Moment> {
        self.with(|sheet| sheet.timeline.last(is))
    }

    /// The time of the last fact at `end` or before for which `is` holds.
    pub fn last_until(&self, end: Moment, is: impl Fn(&Event) -> bool) -> Option<Moment> {
        self.with(|sheet| sheet.timeline.last_until(end, is))
    }

    /// The time of the first fact at `began` or later for which `is` holds.
    pub fn first_since(&self, began: Moment, is: impl Fn(&Event) -> bool) -> Option<Moment> {
        self.with(|sheet| {
            let entries = &sheet.timeline.entries;
            let place = entries.partition_point(|(t, _)| *t < began);
            let mut later = entries.get(place..).unwrap_or_default().iter();
            later.find(|(_, e)| is(e)).map(|(t, _)| *t)
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Sheet) -> T) -> T {
        let sheet = lock(&self.slot).clone();
        work(&mut lock(&sheet))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_about_a_pause_are_recorded_at_the_pause() {
        let cut = |paused: bool| {
            let recorder = Recorder::new(Arc::new(Moment::ZERO));
            recorder.record_at(Moment(3), Event::Received { bytes: 1 });
            if paused {
                let flight = Event::Paused {
                    segments: 1,
                    bytes: 1,
                    window: None,
                };
                recorder.record_at(Moment(3), flight);
            }
            recorder.record_at(Moment(9), Event::Received { bytes: 1 });
            recorder.record_of_pause(Event::CutOff);
            recorder.snapshot().first(|e| *e == Event::CutOff)
        };
        assert_eq!([cut(true), cut(false)], [Some(Moment(3)), None]);
    }

    #[test]
    fn a_request_left_with_the_first_bytes_after_its_beginning() {
        let recorder = Recorder::new(Arc::new(Moment::ZERO));
        for at in [1, 3, 5] {
            recorder.record_at(Moment(at), Event::Sent { bytes: 1 });
        }
        recorder.record_at(Moment(4), Event::Received { bytes: 1 });
        recorder.record_first_departure(Moment(2), Event::RequestSent);
        let sent = recorder.snapshot().first(|e| *e == Event::RequestSent);
        assert_eq!(sent, Some(Moment(3)));
    }

    #[test]
    fn an_endless_body_has_a_limited_number_of_facts() {
        let recorder = Recorder::new(Arc::new(Moment::ZERO));
        // Two pauses of 1 ms, among 300 000 pieces.
        let at = |piece: u64| Moment(piece + piece / 100_000 * 1_000_000);
        for piece in 0..300_000 {
            recorder.record_at(at(piece), Event::Received { bytes: 10 });
        }
        let timeline = recorder.snapshot();
        assert_eq!(timeline.iter().count(), MANY_FACTS + 2);
        assert_eq!(timeline.end(), at(299_999));
        let bytes = timeline.iter().map(|(_, event)| match event {
            Event::Received { bytes } => *bytes,
            _ => 0,
        });
        assert_eq!(bytes.sum::<u64>(), 3_000_000);
    }

    #[test]
    fn a_bounded_recorder_keeps_the_last_facts() {
        let recorder = Recorder::new(Arc::new(Moment::ZERO));
        recorder.keep_last(8);
        for at in 0..10_000 {
            recorder.record_at(Moment(at), Event::Sent { bytes: at });
            let kept = recorder.snapshot().iter().count();
            assert!((8.min(at as usize + 1)..=16).contains(&kept), "{kept}");
        }
        let sent = |e: &Event| matches!(e, Event::Sent { .. });
        assert_eq!(recorder.last(sent), Some(Moment(9_999)));
        let since = recorder.first_since(Moment(9_995), sent);
        assert_eq!(since, Some(Moment(9_995)));
        assert_eq!(recorder.since(Moment(9_995)).iter().count(), 5);
    }
}
