//! The received bytes of one stream that can be read: a ring that grows as the stream needs, and
//! spare rings from other streams for reuse.

use super::pieces::PiecesUsage;

/// The smallest ring.
const MIN_CAPACITY: usize = 2048;
/// The largest total size of spare rings.
const MAX_SPARE: usize = 256 << 10;
/// The size from which on a nearly empty ring is exchanged for a smaller one.
const MIN_SHRINKABLE: usize = 32 << 10;

#[derive(Debug, Default)]
pub(super) struct ByteRing {
    /// The bytes; their number is a power of two, or 0.
    bytes: Vec<u8>,
    /// The index of the next byte to read.
    head: usize,
}

/// Spare rings, which no stream uses, and what all streams keep.
#[derive(Debug, Default)]
pub(super) struct Spares {
    rings: Vec<Vec<u8>>,
    held: usize,
    /// The size of the rings that streams use.
    lent: usize,
    /// The memory of the pieces behind gaps.
    pub(super) pieces: PiecesUsage,
}

impl ByteRing {
    /// Makes room for `count` bytes; keeps the first `kept`.
    #[inline]
    pub(super) fn reach(&mut self, count: usize, kept: usize, spares: &mut Spares) {
        if count > self.bytes.len() {
            self.grow(count, kept, spares);
        }
    }

    #[cold]
    fn grow(&mut self, count: usize, kept: usize, spares: &mut Spares) {
        let bytes = spares.take(count);
        self.move_to(bytes, kept, spares);
    }

    /// Frees memory after all but the first `kept` bytes were read. A peer must not keep a large
    /// ring for little data on each of many streams.
    #[inline]
    pub(super) fn shrink(&mut self, kept: usize, spares: &mut Spares) {
        if self.bytes.len() >= MIN_SHRINKABLE && kept <= self.bytes.len() / 8 {
            let bytes = spares.make(kept);
            self.move_to(bytes, kept, spares);
        }
    }

    #[cold]
    fn move_to(&mut self, mut bytes: Vec<u8>, kept: usize, spares: &mut Spares) {
        let kept = kept.min(self.bytes.len());
        let (front, back) = self.bytes.split_at(self.head);
        let first = back.len().min(kept);
        for (from, at, length) in [(back, 0, first), (front, first, kept - first)] {
            if let (Some(from), Some(to)) = (from.get(..length), bytes.get_mut(at..at + length)) {
                to.copy_from_slice(from);
            }
        }
        spares.give(std::mem::replace(&mut self.bytes, bytes));
        self.head = 0;
    }

    /// Puts `data` after the first `at` bytes; there must be room for it.
    #[inline]
    pub(super) fn put(&mut self, at: usize, data: &[u8]) {
        let capacity = self.bytes.len();
        let place = (self.head + at) & capacity.wrapping_sub(1);
        let first = data.len().min(capacity.saturating_sub(place));
        let (before, behind) = data.split_at(first);
        if let Some(to) = self.bytes.get_mut(place..place + before.len()) {
            to.copy_from_slice(before);
        }
        if let Some(to) = self.bytes.get_mut(..behind.len()) {
            to.copy_from_slice(behind);
        }
    }

    /// The first bytes, up to `count`; fewer if they wrap around in the ring.
    pub(super) fn front(&self, count: usize) -> &[u8] {
        let end = self.bytes.len().min(self.head.saturating_add(count));
        self.bytes.get(self.head..end).unwrap_or_default()
    }

    pub(super) fn advance(&mut self, count: usize) {
        self.head = (self.head + count) & self.bytes.len().wrapping_sub(1);
    }

    /// Makes the ring's memory spare, because nothing in it is needed any more.
    pub(super) fn rest(&mut self, spares: &mut Spares) {
        spares.give(std::mem::take(&mut self.bytes));
        self.head = 0;
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl Spares {
    /// Returns at least `count` bytes. The ring used last is most likely in the cache.
    fn take(&mut self, count: usize) -> Vec<u8> {
        if let Some(at) = self.rings.iter().rposition(|ring| ring.len() >= count) {
            let ring = self.rings.remove(at);
            self.held -= ring.len();
            self.lent += ring.len();
            return ring;
        }
        self.make(count)
    }

    fn make(&mut self, count: usize) -> Vec<u8> {
        let ring = vec![0; count.next_power_of_two().max(MIN_CAPACITY)];
        self.lent += ring.len();
        ring
    }

    /// The size of all rings and pieces.
    pub(super) fn memory(&self) -> usize {
        self.held + self.lent + self.pieces.memory()
    }

    fn give(&mut self, ring: Vec<u8>) {
        self.lent = self.lent.saturating_sub(ring.len());
        if ring.is_empty() || ring.len() > MAX_SPARE {
            return;
        }
        self.held += ring.len();
        self.rings.push(ring);
        while self.held > MAX_SPARE {
            self.held -= self.rings.remove(0).len();
        }
    }

    /// Frees all spare rings.
    pub(super) fn clear(&mut self) {
        self.rings = Vec::new();
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Bytes are appended, some after a gap that is filled later, and read from the front.
        #[test]
        fn a_ring_is_a_queue(steps in prop::collection::vec((1..3000usize, 0..3000usize, any::<bool>()), 1..40)) {
            let (mut ring, mut spares) = (ByteRing::default(), Spares::default());
            let mut queue = std::collections::VecDeque::new();
            let mut next = 0u32;
            for (count, read, backwards) in steps {
                let data: Vec<u8> = (next..).map(|n| (n.wrapping_mul(0x9e37_79b1) >> 24) as u8).take(count).collect();
                next += count as u32;
                let (front, back) = data.split_at(count / 2);
                let held = queue.len();
                if backwards {
                    ring.reach(held + count, held, &mut spares);
                    ring.put(held + front.len(), back);
                    ring.put(held, front);
                } else {
                    ring.reach(held + front.len(), held, &mut spares);
                    ring.put(held, front);
                    ring.reach(held + count, held + front.len(), &mut spares);
                    ring.put(held + front.len(), back);
                }
                queue.extend(data);
                let mut left = read.min(queue.len());
                while left > 0 {
                    let bytes = ring.front(left).to_vec();
                    prop_assert!(!bytes.is_empty() && bytes.len() <= left);
                    prop_assert!(queue.drain(..bytes.len()).eq(bytes.iter().copied()));
                    ring.advance(bytes.len());
                    left -= bytes.len();
                }
                ring.shrink(queue.len(), &mut spares);
                if queue.is_empty() {
                    ring.rest(&mut spares);
                }
                prop_assert_eq!(spares.lent, ring.capacity());
            }
        }
    }

    #[test]
    fn rings_at_rest_hold_little() {
        let mut spares = Spares::default();
        for power in 11..24 {
            spares.give(vec![0; 1 << power]);
            let held: usize = spares.rings.iter().map(Vec::len).sum();
            assert_eq!(spares.held, held);
            assert!(held <= MAX_SPARE && !spares.rings.is_empty());
        }
        assert_eq!(spares.take(MAX_SPARE).len(), MAX_SPARE);
        assert_eq!((spares.held, spares.take(100).len()), (0, MIN_CAPACITY));
    }
}
