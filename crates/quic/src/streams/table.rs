//! Maps a stream's index among those of its kind to the key of its slot.
//!
//! Streams are opened in order, so the young ones are contiguous; few of the old ones are left, in
//! a sorted list.

use std::collections::VecDeque;

/// Stands for a stream that has ended; no key has this value.
const GONE: u32 = u32::MAX;
/// How many entries may be empty.
const SLACK: usize = 64;

#[derive(Debug, Default)]
pub(super) struct StreamTable {
    /// The index of the first stream in `young`.
    first: u64,
    young: VecDeque<u32>,
    /// The number of streams in `young` that have not ended.
    alive: usize,
    old: Vec<(u64, u32)>,
}

impl StreamTable {
    /// The number of all streams so far.
    pub(super) fn count(&self) -> u64 {
        self.first + self.young.len() as u64
    }

    pub(super) fn push(&mut self, key: u32) {
        self.young.push_back(key);
        self.alive += 1;
    }

    #[inline]
    pub(super) fn get(&self, index: u64) -> Option<u32> {
        if let Some(place) = index.checked_sub(self.first) {
            let place = usize::try_from(place).ok()?;
            return self.young.get(place).copied().filter(|key| *key != GONE);
        }
        let at = self.old.binary_search_by_key(&index, |(i, _)| *i).ok()?;
        self.old.get(at).map(|(_, key)| *key)
    }

    pub(super) fn remove(&mut self, index: u64) {
        let Some(place) = index.checked_sub(self.first) else {
            if let Ok(at) = self.old.binary_search_by_key(&index, |(i, _)| *i) {
                self.old.remove(at);
            }
            return;
        };
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if let Some(key) = self.young.get_mut(place)
            && *key != GONE
        {
            *key = GONE;
            self.alive -= 1;
        }
        self.shrink();
    }

    /// Drops empty entries. Each entry is emptied once, so this is constant work for each stream.
    fn shrink(&mut self) {
        while let Some(key) = self.young.front().copied() {
            if key != GONE {
                if self.young.len() <= 4 * self.alive + SLACK {
                    return;
                }
                self.old.push((self.first, key));
                self.alive -= 1;
            }
            self.young.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_are_found_and_the_empty_places_go() {
        let mut table = StreamTable::default();
        for index in 0..100_000 {
            assert_eq!(table.count(), u64::from(index));
            table.push(index);
            if index % 1000 != 0 {
                table.remove(u64::from(index));
            }
        }
        for index in 0..100_000 {
            let expected = (index % 1000 == 0).then_some(index);
            assert_eq!(table.get(u64::from(index)), expected);
        }
        assert_eq!(table.get(100_000), None);
        assert!(
            table.young.len() <= 4 * 100 + SLACK + 1,
            "{}",
            table.young.len()
        );
        for index in (0..100_000).step_by(1000) {
            table.remove(index);
            table.remove(index);
            assert_eq!(table.get(index), None);
        }
        assert!(table.young.is_empty() && table.old.is_empty());
        assert_eq!((table.count(), table.alive), (100_000, 0));
    }
}
