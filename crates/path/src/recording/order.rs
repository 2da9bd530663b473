//! Sorts sights by time: a packet's entry is written together with its fate, which may be known
//! much later.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Note, Sight};

/// Packets that are fetched later may have timestamps earlier by this much.
const SLACK: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(super) struct Order {
    /// Packets whose fate is not known yet.
    under_way: BTreeSet<(Duration, u64)>,
    entries: BTreeMap<u64, Duration>,
    waiting: BTreeMap<(Duration, u64), Sight>,
    told: u64,
    latest: Duration,
}

impl Order {
    pub(super) fn hear(&mut self, note: Note) {
        match note {
            Note::Entered { number, at } => {
                self.under_way.insert((at, number));
                self.entries.insert(number, at);
                self.latest = self.latest.max(at);
            }
            Note::Fate { number, sights } => {
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

    /// Takes the sights that nothing earlier can follow any more.
    pub(super) fn ripe(&mut self) -> BTreeMap<(Duration, u64), Sight> {
        let mut until = self.latest.saturating_sub(SLACK);
        if let Some((first, _)) = self.under_way.first() {
            until = until.min(*first);
        }
        let later = self.waiting.split_off(&(until, 0));
        std::mem::replace(&mut self.waiting, later)
    }

    /// Takes everything that is left.
    pub(super) fn rest(self) -> BTreeMap<(Duration, u64), Sight> {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::super::End;
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn fate(number: u64, times: &[u64]) -> Note {
        let sight = |at: &u64| Sight {
            at: ms(*at),
            end: End::Client,
            leaves: false,
            packet: Vec::new(),
            comments: Vec::new(),
        };
        Note::Fate {
            number: Some(number),
            sights: times.iter().map(sight).collect(),
        }
    }

    #[test]
    fn nothing_is_told_before_what_came_before_it() {
        let mut order = Order::default();
        let times = |sights: BTreeMap<(Duration, u64), Sight>| -> Vec<u128> {
            sights.values().map(|sight| sight.at.as_millis()).collect()
        };
        for (number, at) in [(1, 100), (2, 110)] {
            order.hear(Note::Entered { number, at: ms(at) });
        }
        order.hear(fate(2, &[110, 155]));
        assert!(times(order.ripe()).is_empty());
        order.hear(fate(1, &[100, 190]));
        assert_eq!(times(order.ripe()), [100, 110, 155]);
        assert_eq!(times(order.rest()), [190]);
    }
}
