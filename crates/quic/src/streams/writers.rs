//! Decides when blocked writers can continue: some wait for room in the buffer, others for a higher
//! limit from the peer.

use super::{FIRST_SEND_BUFFER, RESERVE, StreamEvent, Streams, WINDOWS_BUFFERED};

/// A waiting writer is woken when it may write this much.
const WORTH_WAKING: u64 = 64 << 10;

impl Streams {
    /// Takes the new size of the congestion window.
    pub(crate) fn on_window(&mut self, window: u64) {
        let wanted = window.saturating_mul(WINDOWS_BUFFERED);
        let before = self.send_buffer;
        self.send_buffer = wanted.max(FIRST_SEND_BUFFER).min(self.max_send_buffer);
        if self.send_buffer > before && !self.writers.is_empty() {
            self.wake_writers();
        }
    }

    /// Wakes as many of the writers that wait for room as can each write a worthwhile amount.
    pub(super) fn wake_writers(&mut self) {
        let mut free = self.send_buffer.saturating_sub(self.held);
        let worth = WORTH_WAKING.min(self.send_buffer / 8);
        while free >= worth
            && !self.writers.is_empty()
            && let Some(key) = self.writers.front()
        {
            let stream = self.slab.get_mut(key);
            let id = stream.as_ref().map(|stream| stream.id);
            let outgoing = stream.and_then(|stream| stream.outgoing.as_mut());
            if let (Some(id), Some(outgoing)) = (id, &outgoing)
                && outgoing.writer.wants()
            {
                self.events.push_back(StreamEvent::Writable(id));
                free -= worth;
            }
            self.writers
                .pop(outgoing.map(|outgoing| &mut outgoing.writer));
        }
    }

    /// Wakes the writer of a stream whose reserve has room again, even if other streams fill the
    /// shared buffer.
    pub(super) fn wake_reserved(&mut self, key: u32) {
        let Some(stream) = self.slab.get_mut(key) else {
            return;
        };
        if let Some(outgoing) = &mut stream.outgoing
            && outgoing.writer.wants()
            && outgoing.held() <= RESERVE.min(self.send_buffer) / 2
        {
            self.writers.set(key, &mut outgoing.writer, false);
            self.events.push_back(StreamEvent::Writable(stream.id));
        }
    }

    /// Wakes the writer of a stream whose limit the peer has raised.
    pub(super) fn wake_raised(&mut self, key: u32) {
        let Some(stream) = self.slab.get_mut(key) else {
            return;
        };
        if let Some(outgoing) = &mut stream.outgoing
            && outgoing.waits_for_limit
            && outgoing.beyond() <= RESERVE / 2
        {
            outgoing.waits_for_limit = false;
            self.events.push_back(StreamEvent::Writable(stream.id));
        }
    }
}
