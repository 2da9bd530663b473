//! The streams that this side has reset: frames for them may still be under way, and are ignored.
//! RFC 9113 §5.1.

use std::collections::VecDeque;

/// The largest number of remembered streams: as many as a client may have in progress.
const MAX_KEPT: usize = 128;

#[derive(Debug, Default)]
pub(super) struct ResetStreams {
    kept: VecDeque<u32>,
    /// Streams up to this one have been forgotten.
    forgotten: u32,
}

impl ResetStreams {
    pub(super) fn insert(&mut self, stream: u32) {
        if self.kept.contains(&stream) {
            return;
        }
        self.kept.push_back(stream);
        if self.kept.len() > MAX_KEPT {
            let oldest = self.kept.pop_front().unwrap_or_default();
            self.forgotten = self.forgotten.max(oldest);
        }
    }

    /// Whether frames for a closed stream are ignored. In doubt they are.
    pub(super) fn contains(&self, stream: u32) -> bool {
        stream <= self.forgotten || self.kept.contains(&stream)
    }

    pub(super) fn shrink(&mut self) {
        self.kept.shrink_to_fit();
    }
}
