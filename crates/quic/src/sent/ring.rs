//! The packets of one space, by number, from the oldest still needed to the newest.
//!
//! The index of an entry is its number modulo a power of two. An acknowledged entry points past
//! others that are acknowledged too, so that repeated ranges of ACK frames are skipped.

use super::SentPacket;

const MIN_CAPACITY: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct SentRing {
    /// Empty, or a power of two.
    entries: Vec<SentPacket>,
    first: u64,
    next: u64,
}

impl SentRing {
    /// The oldest number that is kept.
    #[inline]
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// One more than the newest number.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn len(&self) -> usize {
        (self.next - self.first) as usize
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len() == self.entries.len()
    }

    pub(crate) fn memory(&self) -> usize {
        self.entries.len() * size_of::<SentPacket>()
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// The index of a number within `first..next`; any other number gives some entry or a gap, but
    /// never a panic.
    #[inline]
    pub(crate) fn at(&self, number: u64) -> SentPacket {
        let index = self.index(number);
        self.entries.get(index).copied().unwrap_or(SentPacket::GAP)
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, number: u64) -> Option<&mut SentPacket> {
        let index = self.index(number);
        self.entries.get_mut(index)
    }

    #[inline]
    fn index(&self, number: u64) -> usize {
        number as usize & self.entries.len().wrapping_sub(1)
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: SentPacket) {
        if self.is_full() {
            self.grow();
        }
        let index = self.index(self.next);
        if let Some(place) = self.entries.get_mut(index) {
            *place = entry;
            self.next += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.entries.len() * 2).max(MIN_CAPACITY);
        let mut larger = vec![SentPacket::GAP; size];
        for number in self.first..self.next {
            if let Some(place) = larger.get_mut(number as usize & (size - 1)) {
                *place = self.at(number);
            }
        }
        self.entries = larger;
    }

    /// Forgets everything below this number.
    #[inline]
    pub(crate) fn release(&mut self, below: u64) {
        self.first = below.clamp(self.first, self.next);
    }

    /// Frees the memory if nothing is kept.
    pub(crate) fn shrink(&mut self) {
        if self.first == self.next {
            self.entries = Vec::new();
        }
    }
}
