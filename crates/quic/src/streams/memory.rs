//! How much memory the streams of a connection hold, and how it is reduced.

use super::{Configured, Streams};
use crate::budget::BudgetShare;
use crate::spans::Span;

/// However short the budget is, a connection may send and receive this much ahead.
const MIN_SHARE: u64 = 64 << 10;

impl Streams {
    /// In bytes, computed without visiting each stream.
    pub(crate) fn memory(&self) -> u64 {
        let rings = self.spares.memory() + self.fragments * size_of::<Span>();
        self.held + (rings + self.slab.memory()) as u64
    }

    /// Follows a budget: the less of it is left, the smaller are the windows granted from now on.
    pub(crate) fn share(&mut self, budget: &BudgetShare) {
        let Configured {
            send_buffer,
            window,
        } = self.configured;
        self.max_send_buffer = budget.share(send_buffer, MIN_SHARE);
        self.send_buffer = self.send_buffer.min(self.max_send_buffer);
        self.receiving.set_window(budget.share(window, MIN_SHARE));
    }
}
