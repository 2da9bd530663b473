//! Maps from the ids of connections, streams and waiters. Each packet and each poll looks up
//! several, so their hash costs one multiplication.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are numbers that this side gives out, or stream ids. A peer chooses which of
/// its streams stay open, so it could make their hashes equal; but no more of them are open at once
/// than the limit that it was granted.
pub(crate) type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

#[derive(Default)]
pub(crate) struct IdHasher(u64);

/// An odd number without a pattern in its bits: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for IdHasher {
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(32) ^ number).wrapping_mul(FACTOR);
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }

    /// The high bits depend on all bits of the key, the low bits on few; the map uses both.
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::{BuildHasher, BuildHasherDefault};

    use roundtrip_quic::StreamId;

    use super::*;

    #[test]
    fn the_ids_of_many_streams_are_spread() {
        let build = BuildHasherDefault::<IdHasher>::default();
        for kind in 0..4 {
            let hashes = (0..1000).map(|number| build.hash_one(StreamId(number * 4 + kind)));
            let hashes: Vec<u64> = hashes.collect();
            let low: HashSet<u64> = hashes.iter().map(|hash| hash % 2048).collect();
            let high: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
            assert!(
                low.len() > 700 && high.len() == 128,
                "{} {}",
                low.len(),
                high.len()
            );
        }
    }
}
