//! Schedules the next steps of packets and hops, ordered by time and then by insertion.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::direction::Direction;
use crate::packet::Packet;

#[derive(Debug)]
pub(super) enum CourseStep {
    /// A packet reaches the hop at this index.
    Pass(Packet, Direction, usize),
    /// A packet leaves the path.
    Leave(Packet, Direction),
    /// The hop at this index asked for a wake-up.
    Wake(usize),
}

#[derive(Default)]
pub(super) struct CourseSchedule {
    entries: BinaryHeap<ScheduledStep>,
    added: u64,
    bytes: usize,
}

struct ScheduledStep {
    at: Duration,
    number: u64,
    step: Box<CourseStep>,
}

impl CourseSchedule {
    pub(super) fn add(&mut self, at: Duration, step: CourseStep) {
        self.added += 1;
        self.bytes += step.bytes();
        self.entries.push(ScheduledStep {
            at,
            number: self.added,
            step: Box::new(step),
        });
    }

    pub(super) fn first(&self) -> Option<Duration> {
        self.entries.peek().map(|entry| entry.at)
    }

    pub(super) fn take_due(&mut self, now: Duration) -> Option<(Duration, CourseStep)> {
        self.first().filter(|at| *at <= now)?;
        let entry = self.entries.pop()?;
        self.bytes -= entry.step.bytes();
        Some((entry.at, *entry.step))
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl CourseStep {
    fn bytes(&self) -> usize {
        match self {
            Self::Pass(packet, ..) | Self::Leave(packet, _) => packet.frame().len(),
            Self::Wake(_) => 0,
        }
    }
}

/// The order is reversed, because `BinaryHeap` pops its greatest element, which has to be the
/// earliest entry.
impl Ord for ScheduledStep {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for ScheduledStep {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ScheduledStep {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for ScheduledStep {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_ordered_by_time_and_then_by_insertion() {
        let mut agenda = CourseSchedule::default();
        for (place, ms) in [5, 3, 5, 1, 3].into_iter().enumerate() {
            agenda.add(Duration::from_millis(ms), CourseStep::Wake(place));
        }
        let mut order = Vec::new();
        while let Some((_, CourseStep::Wake(place))) = agenda.take_due(Duration::from_millis(4)) {
            order.push(place);
        }
        assert_eq!(order, [3, 1, 4]);
        assert_eq!(agenda.first(), Some(Duration::from_millis(5)));
    }
}
