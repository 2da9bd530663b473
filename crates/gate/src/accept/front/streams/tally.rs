//! How a connection's streams ended, and whether its client has worn out our patience.

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::accept::front) enum Parted {
    Well,
    /// By the client, or for what it did.
    Reset,
}

/// Streams that were reset, without as many that came to their end: who only resets takes work for nothing, and who cancels
/// now and then, as browsers do, does not.
#[derive(Debug, Clone, Copy)]
pub(in crate::accept::front) struct Tally {
    resets: u32,
    most: u32,
}

impl Tally {
    pub(in crate::accept::front) fn new(most: u32) -> Self {
        Self { resets: 0, most }
    }

    /// Is it too much now?
    pub(in crate::accept::front) fn enter(&mut self, parted: Parted) -> bool {
        self.resets = match parted {
            Parted::Reset => self.resets.saturating_add(1),
            Parted::Well => self.resets.saturating_sub(1),
        };
        self.resets > self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_exchanges_make_up_for_resets() {
        let mut tally = Tally::new(2);
        for _ in 0..10 {
            assert!(!tally.enter(Parted::Reset));
            assert!(!tally.enter(Parted::Reset));
            assert!(!tally.enter(Parted::Well));
            assert!(!tally.enter(Parted::Well));
        }
        assert!(!tally.enter(Parted::Reset));
        assert!(!tally.enter(Parted::Reset));
        assert!(tally.enter(Parted::Reset));
    }
}
