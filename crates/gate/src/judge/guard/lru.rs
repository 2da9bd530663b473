//! A bounded cache of a few thousand entries, found by their bytes without allocating; the least
//! recently used entry is evicted.
//!
//! Entries are in sets of eight, which are found by a keyed hash of the whole key. The hash only
//! selects the set; a match compares all bytes. An attacker does not know the hash's key, so it
//! cannot choose colliding keys.

use zeroize::Zeroizing;

const WAYS: usize = 8;

pub(super) struct Lru<V> {
    seed: [u64; 2],
    slots: Vec<LruSlot<V>>,
    sets: usize,
    /// Counts the uses.
    ticks: u64,
}

struct LruSlot<V> {
    hash: u64,
    used: u64,
    kept: Option<LruEntry<V>>,
}

struct LruEntry<V> {
    key: Zeroizing<Box<[u8]>>,
    value: V,
}

impl<V> Lru<V> {
    /// A cache with room for `most` entries; the number of sets is rounded up to a power of two.
    pub(super) fn new(most: usize, seed: [u64; 2]) -> Self {
        let sets = most.div_ceil(WAYS).next_power_of_two();
        let empty = |_| LruSlot {
            hash: 0,
            used: 0,
            kept: None,
        };
        Self {
            seed,
            slots: (0..sets * WAYS).map(empty).collect(),
            sets,
            ticks: 0,
        }
    }

    pub(super) fn get(&mut self, key: &[u8]) -> Option<&V> {
        let hash = hash(self.seed, key);
        self.ticks += 1;
        let ticks = self.ticks;
        let slot = self
            .set(hash)
            .iter_mut()
            .find(|slot| slot.holds(hash, key))?;
        slot.used = ticks;
        slot.kept.as_ref().map(|kept| &kept.value)
    }

    /// Replaces the entry with the same key, a free one, or the least recently used one.
    pub(super) fn put(&mut self, key: &[u8], value: V) {
        let hash = hash(self.seed, key);
        self.ticks += 1;
        let used = self.ticks;
        let set = self.set(hash);
        let same = set.iter().position(|slot| slot.holds(hash, key));
        let oldest = || (0..WAYS).min_by_key(|at| set.get(*at).map(|slot| slot.used));
        let place = same.or_else(oldest);
        if let Some(slot) = place.and_then(|at| self.set(hash).get_mut(at)) {
            let kept = LruEntry {
                key: Zeroizing::new(key.into()),
                value,
            };
            *slot = LruSlot {
                hash,
                used,
                kept: Some(kept),
            };
        }
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        let hash = hash(self.seed, key);
        let found = self.set(hash).iter_mut().find(|slot| slot.holds(hash, key));
        if let Some(slot) = found {
            slot.kept = None;
            slot.used = 0;
        }
    }

    /// Empties the cache, and makes room for `most` entries.
    pub(super) fn clear(&mut self, most: usize) {
        *self = Self::new(most, self.seed);
    }

    fn set(&mut self, hash: u64) -> &mut [LruSlot<V>] {
        let first = (hash as usize & (self.sets - 1)) * WAYS;
        self.slots.get_mut(first..first + WAYS).unwrap_or_default()
    }
}

impl<V> LruSlot<V> {
    /// Bytes are compared only if 64 keyed bits agree, so the time reveals nothing.
    fn holds(&self, hash: u64, key: &[u8]) -> bool {
        self.hash == hash && self.kept.as_ref().is_some_and(|kept| **kept.key == *key)
    }
}

/// Sixteen bytes at a time, each multiplied with the previous result. Fast and keyed, but not a
/// cryptographic hash.
fn hash(seed: [u64; 2], bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let [first, second] = seed;
    let (whole, rest) = bytes.as_chunks::<16>();
    let mut state = first ^ (bytes.len() as u64).wrapping_mul(ODD);
    for piece in whole {
        state = mix(state, second, *piece);
    }
    let mut last = [0; 16];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let state = mix(state, second, last);
    fold(state ^ second, ODD)
}

fn mix(state: u64, key: u64, piece: [u8; 16]) -> u64 {
    let both = u128::from_le_bytes(piece);
    fold(both as u64 ^ state, (both >> 64) as u64 ^ key) ^ state.rotate_left(23)
}

/// Combines both halves of the product.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_least_used_goes_first() {
        let mut lru = Lru::new(WAYS, [1, 2]);
        for n in 0..WAYS as u8 {
            lru.put(&[n], n);
        }
        assert_eq!(lru.get(&[0]), Some(&0));
        lru.put(b"new", 99);
        assert_eq!(lru.get(&[1]), None);
        assert_eq!(
            (lru.get(&[0]).copied(), lru.get(b"new").copied()),
            (Some(0), Some(99))
        );
        lru.put(b"new", 100);
        assert_eq!(lru.get(b"new"), Some(&100));
        lru.remove(b"new");
        assert_eq!(lru.get(b"new"), None);
        // Removing an entry makes room.
        lru.put(b"next", 1);
        assert_eq!(lru.get(&[0]), Some(&0));
    }

    /// The keys are compared, not only their hashes: two keys may have the same hash.
    #[test]
    fn all_the_bytes_count() {
        let mut lru = Lru::new(WAYS, [1, 2]);
        lru.put(b"one", 1);
        let (there, other) = (hash([1, 2], b"one"), b"two");
        assert!(lru.slots.iter().any(|slot| slot.holds(there, b"one")));
        assert!(!lru.slots.iter().any(|slot| slot.holds(there, other)));
    }

    #[test]
    fn tokens_spread_over_the_sets() {
        let seed = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210];
        let token = |n: u32| format!("{}{n:08}{}", "a".repeat(200), "b".repeat(90));
        let hashes: Vec<u64> = (0..4096).map(|n| hash(seed, token(n).as_bytes())).collect();
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), 4096);
        let mut sets = [0_u32; 512];
        for hash in hashes {
            sets[hash as usize % 512] += 1;
        }
        // The mean is eight; with a good hash, the chance of 25 or more is less than one in a
        // thousand.
        assert!(*sets.iter().max().unwrap() < 25);
        assert_ne!(hash([1, 2], b"x"), hash([1, 3], b"x"));
        assert_ne!(hash([1, 2], b""), hash([1, 2], b"\0"));
    }

    proptest! {
        #[test]
        fn it_never_holds_more_than_it_may_nor_what_was_not_put(keys in prop::collection::vec("[a-c]{0,4}", 0..200)) {
            let mut lru = Lru::new(16, [3, 4]);
            for key in &keys {
                lru.put(key.as_bytes(), key.clone());
                prop_assert_eq!(lru.get(key.as_bytes()), Some(key));
                prop_assert_eq!(lru.get(b"never"), None);
            }
            prop_assert_eq!(lru.slots.len(), 16);
            let full: Vec<_> = lru.slots.iter().filter_map(|s| s.kept.as_ref()).map(|k| k.key.to_vec()).collect();
            prop_assert_eq!(full.iter().collect::<HashSet<_>>().len(), full.len());
        }
    }
}
