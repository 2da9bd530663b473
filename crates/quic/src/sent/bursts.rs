//! When packets left, and how fast the path delivered then, once for all packets of one burst.

use std::collections::VecDeque;

use crate::Time;

/// The state when a burst left. draft-ietf-ccwg-bbr §4.1.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SentBurst {
    pub(crate) time: Time,
    /// All bytes delivered, and when the last of them were.
    pub(crate) delivered: u64,
    pub(crate) delivered_at: Time,
    /// When the newest acknowledged packet had left.
    pub(crate) acked_sent_at: Time,
    /// All bytes lost.
    pub(crate) lost: u64,
    /// Bytes in flight, including the burst.
    pub(crate) in_flight: u64,
    pub(crate) app_limited: bool,
    /// Whether the socket did not accept all of the burst: its losses then did not happen on the
    /// path.
    pub(crate) is_withheld: bool,
}

/// The bursts that packets in a ring still refer to. There is always one.
#[derive(Debug)]
pub(crate) struct Bursts {
    before: VecDeque<SentBurst>,
    first: u32,
    /// The newest burst, to which the packets now being sent belong.
    current: SentBurst,
}

impl Bursts {
    pub(crate) fn new() -> Self {
        Self {
            before: VecDeque::new(),
            first: 0,
            current: SentBurst::default(),
        }
    }

    pub(crate) fn memory(&self) -> usize {
        self.before.capacity() * size_of::<SentBurst>()
    }

    /// Frees the memory if no packet refers to a burst before the newest.
    pub(crate) fn shrink(&mut self) {
        if self.before.is_empty() {
            self.before = VecDeque::new();
        }
    }

    /// The number by which packets refer to the newest burst.
    pub(crate) fn newest(&self) -> u32 {
        self.first.wrapping_add(self.before.len() as u32)
    }

    pub(crate) fn current(&self) -> &SentBurst {
        &self.current
    }

    pub(crate) fn current_mut(&mut self) -> &mut SentBurst {
        &mut self.current
    }

    /// Begins another burst; `used` says whether any packet refers to the one before.
    pub(crate) fn begin(&mut self, burst: SentBurst, used: bool) {
        if used {
            self.before.push_back(self.current);
        }
        self.current = burst;
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> &SentBurst {
        let place = index.wrapping_sub(self.first) as usize;
        self.before.get(place).unwrap_or(&self.current)
    }

    /// No packet refers to a burst before `oldest` any more.
    pub(crate) fn release(&mut self, oldest: u32) {
        let count = oldest.wrapping_sub(self.first) as usize;
        if count > 0 && count <= self.before.len() {
            self.before.drain(..count);
            self.first = oldest;
        }
    }

    /// How many bursts ago a burst was begun: an older one compares as greater.
    pub(crate) fn age(&self, index: u32) -> u32 {
        self.newest().wrapping_sub(index)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.before.len() + 1
    }
}
