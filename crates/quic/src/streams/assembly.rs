//! Puts stream data into packets: first what was lost, then new data, each stream in turn. RFC 9000
//! §2.3, §13.3.

use roundtrip_wire::quic::Pen;

use super::Streams;
use crate::sent::Chunk;

/// How many bytes of one stream are sent before the next has its turn: about 16 packets.
const TURN: u64 = 24 << 10;

impl Streams {
    /// Whether there is stream data that all limits permit.
    #[inline]
    pub(crate) fn wants_to_send(&self) -> bool {
        !self.urgent.is_empty() || (!self.ready.is_empty() && self.sending.credit() > 0)
    }

    /// Writes one STREAM frame, and returns what it holds; `None` if there is no room or nothing to
    /// send. A frame that fills the pen's room has no length field, so nothing may follow it: the
    /// room is 0 then.
    #[inline]
    pub(crate) fn write_chunk(&mut self, pen: &mut Pen<'_>) -> Option<Chunk> {
        if self.urgent.is_empty() {
            self.write_new(pen)
        } else {
            self.write_urgent(pen)
        }
    }

    #[inline]
    fn write_new(&mut self, pen: &mut Pen<'_>) -> Option<Chunk> {
        let credit = self.sending.credit();
        if credit == 0 {
            return None;
        }
        while let Some(key) = self.ready.front() {
            let stream = self.slab.get_mut(key);
            let id = stream.as_ref().map_or(0, |stream| stream.id.0);
            let Some(outgoing) = stream.and_then(|stream| stream.outgoing.as_mut()) else {
                self.ready.pop(None);
                self.turn = 0;
                continue;
            };
            if !outgoing.ready.wants() {
                self.ready.pop(Some(&mut outgoing.ready));
                self.turn = 0;
                continue;
            }
            let written = outgoing.write_new(id, credit, pen)?;
            let count = u64::from(written.length);
            self.sending.send(count);
            self.counters.bytes_sent += count;
            self.turn += count;
            if outgoing.sendable() == 0 {
                self.ready.pop(Some(&mut outgoing.ready));
                self.turn = 0;
                self.schedule(key);
            } else if self.turn >= TURN {
                self.ready.rotate();
                self.turn = 0;
            }
            if count == credit && !self.ready.is_empty() {
                self.sending.note_blocked();
            }
            return Some(Chunk {
                slot: key,
                offset: written.offset,
                length: written.length,
                fin: written.fin,
            });
        }
        None
    }

    #[cold]
    fn write_urgent(&mut self, pen: &mut Pen<'_>) -> Option<Chunk> {
        while let Some(key) = self.urgent.front() {
            let stream = self.slab.get_mut(key);
            let id = stream.as_ref().map_or(0, |stream| stream.id.0);
            let Some(outgoing) = stream.and_then(|stream| stream.outgoing.as_mut()) else {
                self.urgent.pop(None);
                continue;
            };
            if !outgoing.urgent.wants() {
                self.urgent.pop(Some(&mut outgoing.urgent));
                continue;
            }
            let written = outgoing.write_again(id, pen)?;
            self.counters.bytes_resent += u64::from(written.length);
            if !outgoing.is_urgent() {
                self.urgent.pop(Some(&mut outgoing.urgent));
            }
            return Some(Chunk {
                slot: key,
                offset: written.offset,
                length: written.length,
                fin: written.fin,
            });
        }
        None
    }
}
