//! Limits how long data is kept behind a gap. A peer sends a lost packet again within a few round
//! trips; one that does not, but keeps the connection alive, only occupies memory.

use std::time::Duration;

use super::Streams;
use crate::Time;

/// The longest time for which data is kept behind a gap. A lost packet is sent again much earlier.
const MAX_HOLE_TIME: Duration = Duration::from_secs(30);

impl Streams {
    /// Sets the time: everything until the next call happens at this time.
    #[inline]
    pub(crate) fn set_clock(&mut self, now: Time) {
        self.clock = now;
    }

    /// When to call [`Self::give_up_holes`].
    #[inline]
    pub(crate) fn hole_deadline(&self) -> Option<Time> {
        self.has_gap()
            .then(|| self.oldest_piece.after(MAX_HOLE_TIME))
    }

    /// Abandons streams whose data has waited behind a gap for too long: their readers get `code`,
    /// and STOP_SENDING with the same code goes to the peer.
    pub(crate) fn give_up_holes(&mut self, now: Time, code: u64) {
        let mut oldest = now;
        let keys: Vec<u32> = self.slab.keys().collect();
        for key in keys {
            let Some(stream) = self.slab.get_mut(key) else {
                continue;
            };
            let Some(incoming) = &mut stream.incoming else {
                continue;
            };
            let Some(since) = incoming.has_hole_since() else {
                continue;
            };
            if since.after(MAX_HOLE_TIME) > now {
                oldest = oldest.min(since);
                continue;
            }
            let arrived = incoming.give_up(code, &mut self.spares);
            stream.pending.stop = incoming.stop_code().is_some();
            stream.pending.max_data = false;
            self.counters.given_up += 1;
            self.on_arrived(key, arrived);
            self.schedule(key);
        }
        self.oldest_piece = oldest;
    }
}
