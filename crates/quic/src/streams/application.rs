//! The application's calls on its streams. RFC 9000 §2.4.

use bytes::Bytes;
use roundtrip_wire::quic::MAX_VARINT;

use super::incoming::{Incoming, Offer};
use super::outgoing::{Outgoing, PIECE_COST};
use super::stream::{Pending, Stream};
use super::turn::QueueState;
use super::{Dir, Peek, RESERVE, Read, ReadError, StreamEvent, StreamId, Streams, WriteError};

impl Streams {
    /// Returns `None` if the peer allows no more now: [`StreamEvent::Available`] follows.
    pub(crate) fn open(&mut self, dir: Dir) -> Option<StreamId> {
        let own = self.own.get_mut(dir);
        let index = own.table.count();
        if index >= own.limit {
            own.wanted = true;
            own.note_blocked();
            return None;
        }
        let id = StreamId::new(self.side, dir, index);
        let key = self.slab.insert(Stream {
            id,
            outgoing: Some(Outgoing::new(self.initial.limit(id, self.side))),
            incoming: dir
                .is_bidi()
                .then(|| Incoming::new(self.first_limit, self.stream_window)),
            pending: Pending::default(),
            control: QueueState::default(),
        })?;
        self.own.get_mut(dir).table.push(key);
        self.counters.opened += 1;
        Some(id)
    }

    /// Returns the next stream that the peer opened.
    pub(crate) fn accept(&mut self, dir: Dir) -> Option<StreamId> {
        let opener = self.peer_side();
        let theirs = self.theirs.get_mut(dir);
        if theirs.accepted == theirs.table.count() {
            return None;
        }
        let id = StreamId::new(opener, dir, theirs.accepted);
        theirs.accepted += 1;
        Some(id)
    }

    /// Takes bytes from the front of `data` as far as there is room, without copying them, and
    /// returns their number. If some are left, [`StreamEvent::Writable`] follows.
    pub(crate) fn write(&mut self, id: StreamId, mut data: Bytes) -> Result<usize, WriteError> {
        let key = self.find(id).ok_or(WriteError::Unknown)?;
        let free = self.send_buffer.saturating_sub(self.held);
        let reserve = RESERVE.min(self.send_buffer);
        let stream = self.slab.get_mut(key);
        let outgoing = stream.and_then(|stream| stream.outgoing.as_mut());
        let outgoing = outgoing.ok_or(WriteError::Unknown)?;
        outgoing.check_open()?;
        let in_buffer = free.max(reserve.saturating_sub(outgoing.held()));
        let in_buffer = in_buffer.saturating_sub(PIECE_COST);
        let ahead = RESERVE.saturating_sub(outgoing.beyond());
        let in_limit = outgoing.allowed().saturating_add(ahead);
        let wanted = data.len() as u64;
        let taken = wanted.min(in_buffer).min(in_limit);
        if taken < wanted {
            outgoing.waits_for_limit = in_limit <= taken;
            let waits_for_room = !outgoing.waits_for_limit;
            self.writers.set(key, &mut outgoing.writer, waits_for_room);
        }
        data.truncate(taken as usize);
        if taken > 0 {
            outgoing.push(data);
            self.held += taken + PIECE_COST;
            self.schedule(key);
        }
        Ok(taken as usize)
    }

    /// Ends the stream: nothing more will be written.
    pub(crate) fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        let key = self.find(id).ok_or(WriteError::Unknown)?;
        let outgoing = self.outgoing_mut(key).ok_or(WriteError::Unknown)?;
        outgoing.check_open()?;
        outgoing.finish();
        self.schedule(key);
        Ok(())
    }

    /// Cuts the sending half off. Undelivered data is lost. RFC 9000 §3.1.
    pub(crate) fn reset(&mut self, id: StreamId, code: u64) -> Result<(), WriteError> {
        let key = self.find(id).ok_or(WriteError::Unknown)?;
        self.outgoing_mut(key).ok_or(WriteError::Unknown)?;
        self.cut_off(key, code.min(MAX_VARINT), false);
        Ok(())
    }

    /// Asks the peer to send no more on this stream. RFC 9000 §3.5.
    pub(crate) fn stop(&mut self, id: StreamId, code: u64) -> Result<(), ReadError> {
        let key = self.find(id).ok_or(ReadError::Unknown)?;
        let stream = self.slab.get_mut(key).ok_or(ReadError::Unknown)?;
        let incoming = stream.incoming.as_mut().ok_or(ReadError::Unknown)?;
        if incoming.stop_code().is_some() {
            return Ok(());
        }
        let arrived = incoming.stop(code.min(MAX_VARINT), &mut self.spares);
        self.receiving.consume(arrived.dropped);
        if arrived.is_over {
            self.drop_incoming(key);
        } else {
            stream.pending.stop = true;
            stream.pending.max_data = false;
            self.schedule(key);
        }
        Ok(())
    }

    /// Returns the next bytes, which stay until they are consumed.
    pub(crate) fn peek(&mut self, id: StreamId) -> Result<Peek<'_>, ReadError> {
        let key = self.find(id).ok_or(ReadError::Unknown)?;
        match self.offer(key)? {
            Read::Blocked => Ok(Peek::Blocked),
            Read::End => Ok(Peek::End),
            Read::Bytes(_) => {
                let stream = self.slab.get(key);
                let incoming = stream.and_then(|stream| stream.incoming.as_ref());
                Ok(incoming.map_or(Peek::Blocked, |incoming| Peek::Bytes(incoming.front())))
            }
        }
    }

    /// Whether fewer than `least` bytes can be read, and the peer can still send the others.
    pub(crate) fn awaits(&self, id: StreamId, least: usize) -> bool {
        let stream = self.find(id).and_then(|key| self.slab.get(key));
        let incoming = stream.and_then(|stream| stream.incoming.as_ref());
        incoming.is_some_and(|incoming| incoming.awaits(least))
    }

    /// Removes the first `count` bytes, or fewer if fewer have arrived.
    pub(crate) fn consume(&mut self, id: StreamId, count: usize) {
        if let Some(key) = self.find(id) {
            self.consume_at(key, count);
        }
    }

    pub(crate) fn read(&mut self, id: StreamId, into: &mut [u8]) -> Result<Read, ReadError> {
        let key = self.find(id).ok_or(ReadError::Unknown)?;
        let offer = self.offer(key)?;
        if !matches!(offer, Read::Bytes(_)) || into.is_empty() {
            return Ok(if into.is_empty() {
                Read::Blocked
            } else {
                offer
            });
        }
        let mut count = 0;
        // Runs twice if the data wraps around in the ring.
        while let Some(incoming) = self.slab.get(key).and_then(|s| s.incoming.as_ref()) {
            let front = incoming.front();
            let rest = into.get_mut(count..).unwrap_or_default();
            let length = front.len().min(rest.len());
            let (Some(from), Some(to)) = (front.get(..length), rest.get_mut(..length)) else {
                break;
            };
            if length == 0 {
                break;
            }
            to.copy_from_slice(from);
            count += length;
            self.consume_at(key, length);
        }
        Ok(Read::Bytes(count))
    }

    /// Whether the application has read everything (even if it does not know that yet), or cannot
    /// read the stream.
    #[cfg(test)]
    pub(crate) fn is_finished(&self, id: StreamId) -> bool {
        let stream = self.find(id).and_then(|key| self.slab.get(key));
        let incoming = stream.and_then(|stream| stream.incoming.as_ref());
        incoming.is_none_or(|half| matches!(half.offer(), Offer::End | Offer::Stopped))
    }

    /// The code with which the peer stopped the sending half of a stream that it opened; 0 if the
    /// half is gone, and the code with it.
    pub(crate) fn stop_code(&self, id: StreamId) -> Option<u64> {
        let stream = self.find(id).and_then(|key| self.slab.get(key));
        let outgoing = stream.and_then(|stream| stream.outgoing.as_ref());
        let was_opened = id.is_opened_by(self.peer_side())
            && id.index() < self.theirs.get(id.dir()).table.count();
        outgoing.map_or(was_opened.then_some(0), Outgoing::stop_code)
    }

    /// Cuts the sending half off, unless that was done before.
    pub(super) fn cut_off(&mut self, key: u32, code: u64, stopped: bool) {
        let Some(stream) = self.slab.get_mut(key) else {
            return;
        };
        let Some(outgoing) = &mut stream.outgoing else {
            return;
        };
        if outgoing.reset_code().is_some() {
            return;
        }
        self.held = self.held.saturating_sub(outgoing.held());
        outgoing.cut_off(code, stopped);
        self.writers.set(key, &mut outgoing.writer, false);
        stream.pending.reset = true;
        stream.pending.blocked = false;
        if stopped {
            let event = StreamEvent::Stopped(stream.id, code);
            self.events.push_back(event);
        }
        self.schedule(key);
        self.wake_writers();
    }

    /// Returns the next bytes for the reader, or the end, with which the receiving half is dropped.
    fn offer(&mut self, key: u32) -> Result<Read, ReadError> {
        let stream = self.slab.get_mut(key).ok_or(ReadError::Unknown)?;
        let incoming = stream.incoming.as_mut().ok_or(ReadError::Unknown)?;
        match incoming.offer() {
            Offer::Bytes(count) => Ok(Read::Bytes(count)),
            Offer::Blocked => Ok(Read::Blocked),
            Offer::Stopped => Err(ReadError::Unknown),
            Offer::End => {
                self.drop_incoming(key);
                Ok(Read::End)
            }
            Offer::Reset(code) => {
                self.drop_incoming(key);
                Err(ReadError::Reset(code))
            }
            // The peer's data is still counted until its end is known.
            Offer::GivenUp(code) => {
                incoming.on_told_given_up();
                Err(ReadError::Reset(code))
            }
        }
    }

    fn consume_at(&mut self, key: u32, count: usize) {
        let Some(stream) = self.slab.get_mut(key) else {
            return;
        };
        let Some(incoming) = &mut stream.incoming else {
            return;
        };
        let consumed = incoming.consume(count, &mut self.spares);
        self.receiving.consume(consumed);
        incoming.set_window(self.stream_window);
        if incoming.is_limit_due() && !stream.pending.max_data {
            stream.pending.max_data = true;
            self.schedule(key);
        }
    }
}
