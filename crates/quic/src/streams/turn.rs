//! A queue of streams that wait for their turn. A stream that no longer wants its turn stays in the
//! queue and is skipped, so that leaving costs nothing.

use std::collections::VecDeque;

/// How many streams may stay in the queue without wanting a turn.
const SLACK: usize = 64;

#[derive(Debug, Default)]
pub(super) struct StreamQueue {
    keys: VecDeque<u32>,
    /// The number of streams that want a turn.
    wanting: usize,
}

/// What a stream knows about its place in one queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QueueState {
    queued: bool,
    wants: bool,
}

impl StreamQueue {
    /// Whether no stream wants a turn.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.wanting == 0
    }

    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        self.keys.len()
    }

    /// How many streams want a turn.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.wanting
    }

    /// The first stream, even if it does not want its turn any more.
    #[inline]
    pub(super) fn front(&self) -> Option<u32> {
        self.keys.front().copied()
    }

    /// Sets whether the stream with this key and place wants a turn.
    #[inline]
    pub(super) fn set(&mut self, key: u32, place: &mut QueueState, wants: bool) {
        if place.wants == wants {
            return;
        }
        place.wants = wants;
        if !wants {
            self.wanting -= 1;
            return;
        }
        self.wanting += 1;
        if !place.queued {
            place.queued = true;
            self.keys.push_back(key);
        }
    }

    /// Removes the first entry; `place` is the place of its stream, if that still exists.
    pub(super) fn pop(&mut self, place: Option<&mut QueueState>) {
        self.keys.pop_front();
        if let Some(place) = place {
            self.wanting -= usize::from(place.wants);
            *place = QueueState::default();
        }
    }

    /// Moves the first entry behind the others.
    pub(super) fn rotate(&mut self) {
        if self.keys.len() > 1 {
            self.keys.rotate_left(1);
        }
    }

    /// Removes a stream that is forgotten.
    pub(super) fn forget(&mut self, place: QueueState) {
        self.wanting -= usize::from(place.wants);
    }

    /// Whether there are more entries than the `alive` streams account for.
    pub(super) fn is_crowded(&self, alive: usize) -> bool {
        self.keys.len() > 2 * alive + SLACK
    }

    pub(super) fn retain(&mut self, is_alive: impl FnMut(&u32) -> bool) {
        self.keys.retain(is_alive);
    }
}

impl QueueState {
    #[inline]
    pub(super) fn wants(self) -> bool {
        self.wants
    }
}
