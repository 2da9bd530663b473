//! The append-only log of one exchange, and the handle through which every layer writes to it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::{Clock, Event, Moment, Task};

/// Facts in the order of their times.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Timeline {
    entries: Vec<(Moment, Event)>,
}

impl Timeline {
    /// Adds a fact. A fact learnt late (the kernel's arrival time of bytes read later) goes where its time belongs.
    pub fn push(&mut self, at: Moment, event: Event) {
        let place = self.entries.partition_point(|(t, _)| *t <= at);
        self.entries.insert(place, (at, event));
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &(Moment, Event)> + Clone {
        self.entries.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The time of the first fact that `is` recognises.
    pub fn first(&self, is: impl Fn(&Event) -> bool) -> Option<Moment> {
        self.entries.iter().find(|(_, e)| is(e)).map(|(t, _)| *t)
    }

    /// The time of the last fact that `is` recognises.
    pub fn last(&self, is: impl Fn(&Event) -> bool) -> Option<Moment> {
        self.entries
            .iter()
            .rev()
            .find(|(_, e)| is(e))
            .map(|(t, _)| *t)
    }

    /// When the whole was over: its `Finished`, or the last thing seen.
    pub fn end(&self) -> Moment {
        self.last(|e| *e == Event::Finished)
            .or(self.entries.last().map(|(t, _)| *t))
            .unwrap_or_default()
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

/// A shared pen: net, tls and http write to the same timeline with the same clock. A connection keeps its pen; for its
/// next exchange the pen is given a new sheet.
#[derive(Clone)]
pub struct Recorder {
    clock: Arc<dyn Clock>,
    sheet: Arc<Mutex<Sheet>>,
}

#[derive(Default)]
struct Sheet {
    zero: Moment,
    timeline: Timeline,
}

impl Recorder {
    /// Time begins now.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let recorder = Self {
            clock,
            sheet: Arc::default(),
        };
        recorder.restart();
        recorder
    }

    /// Forgets what was written; time begins anew.
    pub fn restart(&self) {
        *self.sheet() = Sheet {
            zero: self.clock.now(),
            timeline: Timeline::default(),
        };
    }

    pub fn now(&self) -> Moment {
        let zero = self.sheet().zero;
        Moment::ZERO + self.clock.now().since(zero)
    }

    pub fn record(&self, event: Event) {
        self.record_at(self.now(), event);
    }

    pub fn record_at(&self, at: Moment, event: Event) {
        self.sheet().timeline.push(at, event);
    }

    /// Records what the bytes that came last brought, at the time they came.
    pub fn record_arrival(&self, event: Event) {
        self.record_beside(event, |e| matches!(e, Event::Received { .. }));
    }

    /// Records what the bytes that left last carried, at the time they left.
    pub fn record_departure(&self, event: Event) {
        self.record_beside(event, |e| matches!(e, Event::Sent { .. }));
    }

    fn record_beside(&self, event: Event, bytes: impl Fn(&Event) -> bool) {
        let now = self.now();
        let mut sheet = self.sheet();
        let at = sheet.timeline.last(bytes).unwrap_or(now);
        sheet.timeline.push(at, event);
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

    /// A copy of what has been seen so far.
    pub fn snapshot(&self) -> Timeline {
        self.sheet().timeline.clone()
    }

    fn sheet(&self) -> MutexGuard<'_, Sheet> {
        self.sheet.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}
