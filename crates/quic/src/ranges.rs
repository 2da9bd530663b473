//! Sets of numbers kept as ranges, few and sorted.

use std::ops::RangeInclusive;

/// Sorted from the lowest up; neighbouring ranges are joined.
#[derive(Debug, Default, Clone)]
pub(crate) struct Ranges {
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds a number; returns false if it was already in the set.
    #[inline]
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        match self.ranges.last_mut() {
            Some((_, end)) if number.checked_sub(1) == Some(*end) => {
                *end = number;
                true
            }
            _ => self.insert_elsewhere(number),
        }
    }

    #[cold]
    fn insert_elsewhere(&mut self, number: u64) -> bool {
        // Late packets are rarely very late: the search begins at the top.
        let below = self.ranges.iter().rposition(|(start, _)| *start <= number);
        let at = below.map_or(0, |index| index + 1);
        let above = self.ranges.get(at).copied();
        let joins_above = above.is_some_and(|(start, _)| number + 1 == start);
        let below = below.and_then(|index| self.ranges.get_mut(index));
        let joins_below = below.as_ref().is_some_and(|(_, end)| *end + 1 == number);
        match (below, above) {
            (Some((_, end)), _) if *end >= number => return false,
            (Some(below), Some((_, end))) if joins_below && joins_above => {
                below.1 = end;
                self.ranges.remove(at);
            }
            (Some(below), _) if joins_below => below.1 = number,
            (_, Some(_)) if joins_above => {
                if let Some(above) = self.ranges.get_mut(at) {
                    above.0 = number;
                }
            }
            _ => self.ranges.insert(at, (number, number)),
        }
        true
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        let below = self.ranges.iter().rfind(|(start, _)| *start <= number);
        below.is_some_and(|(_, end)| number <= *end)
    }

    #[inline]
    pub(crate) fn highest(&self) -> Option<u64> {
        self.ranges.last().map(|(_, end)| *end)
    }

    pub(crate) fn lowest(&self) -> Option<u64> {
        self.ranges.first().map(|(start, _)| *start)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Removes the lowest range.
    pub(crate) fn pop_lowest(&mut self) -> Option<RangeInclusive<u64>> {
        (!self.ranges.is_empty()).then(|| {
            let (start, end) = self.ranges.remove(0);
            start..=end
        })
    }

    /// The ranges from the highest down.
    pub(crate) fn descending(&self) -> impl Iterator<Item = RangeInclusive<u64>> {
        self.ranges.iter().rev().map(|(start, end)| *start..=*end)
    }

    /// The lowest number above `floor` and below the highest that is not in the set.
    pub(crate) fn lowest_missing_above(&self, floor: u64) -> Option<u64> {
        let mut missing = None;
        let mut above = None;
        for (start, end) in self.ranges.iter().rev() {
            if above.is_some() {
                missing = Some((end + 1).max(floor + 1));
            }
            if *start <= floor.saturating_add(1) {
                return missing;
            }
            above = Some(*start);
        }
        // Everything below the lowest range is missing.
        above.map(|_| floor + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(numbers in prop::collection::vec(0_u64..80, 0..120), floor in 0_u64..80) {
            let mut ranges = Ranges::default();
            let mut model = BTreeSet::new();
            for number in numbers {
                prop_assert_eq!(ranges.insert(number), model.insert(number));
                let flat: Vec<u64> = ranges.descending().flat_map(Iterator::rev).collect();
                prop_assert_eq!(flat, model.iter().rev().copied().collect::<Vec<_>>());
                // Neighbours are joined: between two ranges something is missing.
                let all: Vec<_> = ranges.descending().collect();
                prop_assert!(all.windows(2).all(|w| w[1].end() + 1 < *w[0].start()));
            }
            prop_assert_eq!(ranges.highest(), model.last().copied());
            prop_assert_eq!(ranges.lowest(), model.first().copied());
            for number in 0..90 {
                prop_assert_eq!(ranges.contains(number), model.contains(&number));
            }
            let top = model.last().copied().unwrap_or(0);
            let missing = (floor + 1..top).find(|n| !model.contains(n));
            prop_assert_eq!(ranges.lowest_missing_above(floor), missing);
        }
    }
}
