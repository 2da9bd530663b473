//! How much memory the streams of a connection hold, and how it is reduced.

use std::sync::Arc;

use super::limits::{Receiving, Theirs};
use super::{Configured, Streams};
use crate::Transport;
use crate::budget::BudgetShare;

/// However short the budget is, a connection may send and receive this much ahead.
const MIN_SHARE: u64 = 64 << 10;
/// However short the budget is, the peer may have this many streams in each direction.
const MIN_STREAMS: u64 = 8;

/// The limits for a peer that comes now: the less of the budget is left, the smaller they are.
pub(crate) fn granted(config: &Arc<Transport>, budget: &BudgetShare) -> Arc<Transport> {
    if !budget.is_short() {
        return config.clone();
    }
    let mut granted = Transport::clone(config);
    granted.window = budget.share(config.window, MIN_SHARE);
    granted.stream_window = budget.share(config.stream_window, MIN_SHARE);
    granted.bidi_streams = budget.share(config.bidi_streams, MIN_STREAMS);
    Arc::new(granted)
}

impl Streams {
    /// The memory of all streams in bytes, computed without visiting each stream.
    pub(crate) fn memory(&self) -> u64 {
        self.held + (self.spares.memory() + self.slab.memory()) as u64
    }

    /// Begins with the limits that the peer was sent. They grow as the budget permits.
    pub(crate) fn begin(&mut self, granted: &Transport) {
        self.receiving = Receiving::new(granted.window);
        self.first_limit = granted.stream_window;
        self.stream_window = granted.stream_window;
        self.theirs.bidi = Theirs::new(granted.bidi_streams);
    }

    /// Follows a budget: the less of it is left, the smaller are the windows granted from now on.
    pub(crate) fn share(&mut self, budget: &BudgetShare) {
        let Configured {
            send_buffer,
            window,
            stream_window,
            bidi_streams,
        } = self.configured;
        self.max_send_buffer = budget.share(send_buffer, MIN_SHARE);
        self.send_buffer = self.send_buffer.min(self.max_send_buffer);
        self.receiving.set_window(budget.share(window, MIN_SHARE));
        self.stream_window = budget.share(stream_window, MIN_SHARE);
        let streams = budget.share(bidi_streams, MIN_STREAMS);
        self.theirs.bidi.set_window(streams);
    }
}
