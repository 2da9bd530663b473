//! Applies the peer's stream frames, and enforces the rules for them. RFC 9000 §3, §4, §19.4–19.14.

use roundtrip_wire::quic::{Frame, MAX_VARINT, Side};

use super::incoming::{Arrived, Incoming};
use super::limits::MAX_STREAM_COUNT;
use super::outgoing::Outgoing;
use super::stream::{Pending, Stream};
use super::turn::QueueState;
use super::{Dir, StreamEvent, StreamId, Streams};
use crate::Code;
use crate::error::TransportError;

impl Streams {
    /// Handles a frame of a stream, or of the limits for streams; all other frames have other
    /// owners.
    pub(crate) fn on_frame(&mut self, frame: &Frame<'_>) -> Result<(), TransportError> {
        match *frame {
            Frame::Stream {
                id,
                offset,
                data,
                fin,
            } => self.on_stream(id, offset, data, fin),
            Frame::ResetStream { id, code, size } => self.on_reset(id, code, size),
            Frame::StopSending { id, code } => self.on_stop_sending(id, code),
            Frame::MaxData(limit) => {
                self.on_max_data(limit);
                Ok(())
            }
            Frame::MaxStreamData { id, limit } => self.on_max_stream_data(id, limit),
            Frame::MaxStreams { bidi, limit } => self.on_max_streams(bidi, limit),
            Frame::StreamDataBlocked { id, limit } => self.on_stream_data_blocked(id, limit),
            Frame::StreamsBlocked { bidi, limit } => self.on_streams_blocked(bidi, limit),
            Frame::DataBlocked(limit) => {
                self.on_data_blocked(limit);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn on_stream(
        &mut self,
        id: u64,
        offset: u64,
        data: &[u8],
        fin: bool,
    ) -> Result<(), TransportError> {
        let end = offset.saturating_add(data.len() as u64);
        if end > MAX_VARINT {
            let why = "stream data reaches beyond the largest offset";
            return Err(TransportError::new(Code::FRAME_ENCODING_ERROR, why));
        }
        let Some(key) = self.incoming_key(StreamId(id))? else {
            return Ok(());
        };
        let stream = self.slab.get_mut(key);
        let Some(incoming) = stream.and_then(|stream| stream.incoming.as_mut()) else {
            return Ok(());
        };
        let fresh = incoming.check(end, fin)?;
        self.receiving.receive(fresh)?;
        let had_hole = self.spares.pieces.count > 0;
        let arrived = incoming.take(offset, data, fin, self.clock, &mut self.spares);
        if !had_hole {
            self.oldest_piece = self.clock;
        }
        if self.spares.pieces.count > self.max_fragments {
            let why = "stream data came out of order in more pieces than can be buffered";
            return Err(TransportError::new(Code::INTERNAL_ERROR, why));
        }
        if arrived != Arrived::default() {
            self.on_arrived(key, arrived);
        }
        Ok(())
    }

    pub(super) fn on_reset(&mut self, id: u64, code: u64, size: u64) -> Result<(), TransportError> {
        let Some(key) = self.incoming_key(StreamId(id))? else {
            return Ok(());
        };
        let stream = self.slab.get_mut(key);
        let Some(incoming) = stream.and_then(|stream| stream.incoming.as_mut()) else {
            return Ok(());
        };
        let fresh = incoming.check(size, true)?;
        self.receiving.receive(fresh)?;
        let arrived = incoming.reset(code, size, &mut self.spares);
        self.on_arrived(key, arrived);
        Ok(())
    }

    /// Resets the stream with the same code. RFC 9000 §3.5.
    pub(super) fn on_stop_sending(&mut self, id: u64, code: u64) -> Result<(), TransportError> {
        if let Some(key) = self.outgoing_key(StreamId(id))? {
            self.cut_off(key, code, true);
        }
        Ok(())
    }

    pub(super) fn on_max_data(&mut self, limit: u64) {
        self.sending.raise(limit);
    }

    pub(super) fn on_max_stream_data(&mut self, id: u64, limit: u64) -> Result<(), TransportError> {
        if let Some(key) = self.outgoing_key(StreamId(id))?
            && let Some(outgoing) = self.outgoing_mut(key)
            && limit > outgoing.limit()
        {
            outgoing.raise(limit);
            self.schedule(key);
            self.wake_raised(key);
        }
        Ok(())
    }

    pub(super) fn on_max_streams(&mut self, bidi: bool, limit: u64) -> Result<(), TransportError> {
        check_count(limit)?;
        self.raise_own(Dir::from_bidi(bidi), limit);
        Ok(())
    }

    pub(super) fn on_data_blocked(&mut self, _limit: u64) {
        self.counters.peer_blocked += 1;
        self.receiving.hurry();
    }

    pub(super) fn on_stream_data_blocked(
        &mut self,
        id: u64,
        _limit: u64,
    ) -> Result<(), TransportError> {
        self.counters.peer_blocked += 1;
        let Some(key) = self.incoming_key(StreamId(id))? else {
            return Ok(());
        };
        if let Some(stream) = self.slab.get_mut(key)
            && let Some(incoming) = &stream.incoming
            && incoming.is_limit_stale()
        {
            stream.pending.max_data = true;
            self.schedule(key);
        }
        Ok(())
    }

    pub(super) fn on_streams_blocked(
        &mut self,
        bidi: bool,
        limit: u64,
    ) -> Result<(), TransportError> {
        check_count(limit)?;
        self.counters.peer_blocked += 1;
        self.theirs.get_mut(Dir::from_bidi(bidi)).hurry();
        Ok(())
    }

    pub(super) fn peer_side(&self) -> Side {
        match self.side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    pub(super) fn on_arrived(&mut self, key: u32, arrived: Arrived) {
        self.receiving.consume(arrived.dropped);
        if arrived.is_over && !arrived.is_news {
            self.drop_incoming(key);
            return;
        }
        if arrived.is_news
            && let Some(stream) = self.slab.get_mut(key)
            && let Some(incoming) = &mut stream.incoming
            && !incoming.told
        {
            incoming.told = true;
            let event = StreamEvent::Readable(stream.id);
            self.events.push_back(event);
        }
    }

    /// The stream of a frame from a sender of data; `None` if it has ended.
    fn incoming_key(&mut self, id: StreamId) -> Result<Option<u32>, TransportError> {
        if !id.is_bidi() && id.is_opened_by(self.side) {
            let why = "a frame of a sender came on a stream that only this side sends on";
            return Err(TransportError::new(Code::STREAM_STATE_ERROR, why));
        }
        self.key(id)
    }

    /// The stream of a frame from a receiver of data; `None` if it has ended.
    fn outgoing_key(&mut self, id: StreamId) -> Result<Option<u32>, TransportError> {
        if !id.is_bidi() && !id.is_opened_by(self.side) {
            let why = "a frame of a receiver came on a stream that only the peer sends on";
            return Err(TransportError::new(Code::STREAM_STATE_ERROR, why));
        }
        self.key(id)
    }

    #[inline]
    fn key(&mut self, id: StreamId) -> Result<Option<u32>, TransportError> {
        if id == self.recent.0 && self.slab.get(self.recent.1).is_some() {
            return Ok(Some(self.recent.1));
        }
        if !id.is_opened_by(self.side) {
            self.open_theirs(id)?;
        } else if id.index() >= self.own.get(id.dir()).table.count() {
            let why = "a frame came on a stream that this side has not opened";
            return Err(TransportError::new(Code::STREAM_STATE_ERROR, why));
        }
        let key = self.find(id);
        if let Some(key) = key {
            self.recent = (id, key);
        }
        Ok(key)
    }

    /// Opens a stream and all streams below it. RFC 9000 §3.2.
    fn open_theirs(&mut self, id: StreamId) -> Result<(), TransportError> {
        let (dir, opener) = (id.dir(), self.peer_side());
        let theirs = self.theirs.get_mut(dir);
        theirs.check(id.index())?;
        while theirs.table.count() <= id.index() {
            let id = StreamId::new(opener, dir, theirs.table.count());
            let limit = self.initial.limit(id, self.side);
            let key = self.slab.insert(Stream {
                id,
                outgoing: dir.is_bidi().then(|| Outgoing::new(limit)),
                incoming: Some(Incoming::new(self.first_limit, self.stream_window)),
                pending: Pending::default(),
                control: QueueState::default(),
            });
            let Some(key) = key else {
                let why = "more streams are open at once than are supported";
                return Err(TransportError::new(Code::INTERNAL_ERROR, why));
            };
            theirs.table.push(key);
            self.counters.accepted += 1;
            if !theirs.told {
                theirs.told = true;
                self.events.push_back(StreamEvent::Opened(dir));
            }
        }
        Ok(())
    }
}

/// RFC 9000 §19.11 and §19.14.
fn check_count(limit: u64) -> Result<(), TransportError> {
    if limit > MAX_STREAM_COUNT {
        let why = "a limit allows more streams than can exist";
        return Err(TransportError::new(Code::FRAME_ENCODING_ERROR, why));
    }
    Ok(())
}
