//! Sorts sightings by time: a packet's entry is written together with its fate, which may become
//! known much later.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{PacketSight, RecordingEvent};

/// Packets that are fetched later may have timestamps earlier by this much.
const MAX_DISORDER: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(super) struct SightQueue {
    /// Packets whose fate is not known yet.
    under_way: BTreeSet<(Duration, u64)>,
    entries: BTreeMap<u64, Duration>,
    waiting: BTreeMap<(Duration, u64), PacketSight>,
    told: u64,
    latest: Duration,
}

impl SightQueue {
    pub(super) fn hear(&mut self, note: RecordingEvent) {
        match note {
            RecordingEvent::Entered { number, at } => {
                self.under_way.insert((at, number));
                self.entries.insert(number, at);
                self.latest = self.latest.max(at);
            }
            RecordingEvent::Fate { number, sights } => {
                if let Some((number, at)) =
                    number.and_then(|number| self.entries.remove_entry(&number))
                {
                    self.under_way.remove(&(at, number));
                }
                for sight in sights {
                    self.told += 1;
                    self.latest = self.latest.max(sight.at);
                    self.waiting.insert((sight.at, self.told), sight);
                }
            }
        }
    }

    /// Takes the packets that no earlier event can still precede.
    pub(super) fn ripe(&mut self) -> BTreeMap<(Duration, u64), PacketSight> {
        let mut until = self.latest.saturating_sub(MAX_DISORDER);
        if let Some((first, _)) = self.under_way.first() {
            until = until.min(*first);
        }
        let later = self.waiting.split_off(&(until, 0));
        std::mem::replace(&mut self.waiting, later)
    }

    /// Takes everything that is left.
    pub(super) fn rest(self) -> BTreeMap<(Duration, u64), PacketSight> {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::super::PathEnd;
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn fate(number: u64, times: &[u64]) -> RecordingEvent {
        let sight = |at: &u64| PacketSight {
            at: ms(*at),
            end: PathEnd::Client,
            leaves: false,
            packet: Vec::new(),
            comments: Vec::new(),
        };
        RecordingEvent::Fate {
            number: Some(number),
            sights: times.iter().map(sight).collect(),
        }
    }

    #[test]
    fn sights_are_released_in_order_of_time() {
        let mut order = SightQueue::default();
        let times = |sights: BTreeMap<(Duration, u64), PacketSight>| -> Vec<u128> {
            sights.values().map(|sight| sight.at.as_millis()).collect()
        };
        for (number, at) in [(1, 100), (2, 110)] {
            order.hear(RecordingEvent::Entered { number, at: ms(at) });
        }
        order.hear(fate(2, &[110, 155]));
        assert!(times(order.ripe()).is_empty());
        order.hear(fate(1, &[100, 190]));
        assert_eq!(times(order.ripe()), [100, 110, 155]);
        assert_eq!(times(order.rest()), [190]);
    }
}
