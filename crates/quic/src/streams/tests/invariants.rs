//! What must hold for streams, whatever happened to them.

use super::super::incoming::Incoming;
use super::super::outgoing::Outgoing;
use super::super::{RESERVE, Streams};

impl Streams {
    /// Everything that must hold at any time.
    pub(super) fn check(&self) {
        let streams: Vec<_> = self
            .slab
            .keys()
            .filter_map(|key| self.slab.get(key))
            .collect();
        let outgoing = || streams.iter().filter_map(|stream| stream.outgoing.as_ref());
        let incoming = || streams.iter().filter_map(|stream| stream.incoming.as_ref());
        let held: u64 = outgoing().map(Outgoing::held).sum();
        assert_eq!(self.held, held);
        assert!(held <= self.send_buffer + RESERVE * streams.len() as u64);
        let pieces: usize = incoming().map(Incoming::pieces).sum();
        assert_eq!(self.spares.pieces.count, pieces);
        assert!(pieces <= self.max_fragments);
        assert_eq!(
            self.ready.len(),
            outgoing().filter(|o| o.ready.wants()).count()
        );
        assert_eq!(
            self.urgent.len(),
            outgoing().filter(|o| o.urgent.wants()).count()
        );
        assert_eq!(
            self.writers.len(),
            outgoing().filter(|o| o.writer.wants()).count()
        );
        assert_eq!(
            self.control.len(),
            streams.iter().filter(|s| s.control.wants()).count()
        );
        for stream in &streams {
            let is_withheld = stream.id.is_opened_by(self.side)
                && stream.id.index() >= self.own.get(stream.id.dir()).limit;
            if let Some(outgoing) = &stream.outgoing {
                assert_eq!(
                    outgoing.ready.wants(),
                    !is_withheld && outgoing.sendable() > 0
                );
                assert_eq!(
                    outgoing.urgent.wants(),
                    !is_withheld && outgoing.is_urgent()
                );
            }
            assert_eq!(stream.control.wants(), !is_withheld && stream.pending.any());
        }
    }

    /// The total size of all streams' rings, in bytes. Rings do not hold the data behind holes.
    pub(super) fn ring_bytes(&self) -> usize {
        let streams = self.slab.keys().filter_map(|key| self.slab.get(key));
        let incoming = streams.filter_map(|stream| stream.incoming.as_ref());
        incoming.map(Incoming::capacity).sum()
    }
}
