//! Ends the halves of streams, and forgets streams without halves. RFC 9000 §3.

use super::Streams;

impl Streams {
    /// The sending half is done.
    pub(super) fn drop_outgoing(&mut self, key: u32) {
        let Some(stream) = self.slab.get_mut(key) else {
            return;
        };
        if let Some(outgoing) = stream.outgoing.take() {
            self.held = self.held.saturating_sub(outgoing.held());
            self.ready.forget(outgoing.ready);
            self.urgent.forget(outgoing.urgent);
            self.writers.forget(outgoing.writer);
        }
        self.settle(key);
    }

    /// The receiving half is done.
    pub(super) fn drop_incoming(&mut self, key: u32) {
        let Some(stream) = self.slab.get_mut(key) else {
            return;
        };
        if let Some(mut incoming) = stream.incoming.take() {
            incoming.release(&mut self.spares);
        }
        stream.pending.max_data = false;
        stream.pending.stop = false;
        self.settle(key);
    }

    /// Forgets a stream that has no half left.
    fn settle(&mut self, key: u32) {
        let Some(stream) = self.slab.get(key) else {
            return;
        };
        if stream.outgoing.is_some() || stream.incoming.is_some() {
            self.schedule(key);
            return;
        }
        let (id, control) = (stream.id, stream.control);
        self.control.forget(control);
        self.slab.remove(key);
        if id.is_opened_by(self.side) {
            self.own.get_mut(id.dir()).table.remove(id.index());
        } else {
            let theirs = self.theirs.get_mut(id.dir());
            theirs.table.remove(id.index());
            theirs.close();
        }
        let (slab, alive) = (&self.slab, self.slab.len());
        for turns in [
            &mut self.ready,
            &mut self.urgent,
            &mut self.control,
            &mut self.writers,
        ] {
            if turns.is_crowded(alive) {
                turns.retain(|key| slab.get(*key).is_some());
            }
        }
    }
}
