//! Counts how a connection's streams ended, and says when its client has reset too many.

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::accept::front) enum StreamEnd {
    Well,
    /// The client reset the stream, or made gate reset it.
    Reset,
}

/// Streams that were reset, minus those that completed. A client that only resets wastes gate's
/// work; one that sometimes cancels, as browsers do, does not.
#[derive(Debug, Clone, Copy)]
pub(in crate::accept::front) struct ResetCount {
    resets: u32,
    most: u32,
}

impl ResetCount {
    pub(in crate::accept::front) fn new(most: u32) -> Self {
        Self { resets: 0, most }
    }

    /// Counts the end of a stream, and returns whether there were too many resets.
    pub(in crate::accept::front) fn enter(&mut self, parted: StreamEnd) -> bool {
        self.resets = match parted {
            StreamEnd::Reset => self.resets.saturating_add(1),
            StreamEnd::Well => self.resets.saturating_sub(1),
        };
        self.resets > self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_exchanges_make_up_for_resets() {
        let mut resets = ResetCount::new(2);
        for _ in 0..10 {
            assert!(!resets.enter(StreamEnd::Reset));
            assert!(!resets.enter(StreamEnd::Reset));
            assert!(!resets.enter(StreamEnd::Well));
            assert!(!resets.enter(StreamEnd::Well));
        }
        assert!(!resets.enter(StreamEnd::Reset));
        assert!(!resets.enter(StreamEnd::Reset));
        assert!(resets.enter(StreamEnd::Reset));
    }
}
