//! The outcome of sent data: acknowledged, lost, or refused as early data. RFC 9000 §13.3.

use super::incoming::Incoming;
use super::limits::Sending;
use super::outgoing::Outgoing;
use super::{Dir, InitialStreamLimits, StreamEvent, StreamId, Streams};
use crate::sent::{Chunk, SentFrame};

impl Streams {
    /// Notes that a run of one stream's bytes has arrived.
    pub(crate) fn on_acked(&mut self, chunk: &Chunk) {
        let key = chunk.slot;
        let Some(stream) = self.slab.get_mut(key) else {
            return;
        };
        let Some(outgoing) = &mut stream.outgoing else {
            return;
        };
        let before = outgoing.held();
        let end = chunk.offset.saturating_add(u64::from(chunk.length));
        outgoing.on_acked(chunk.offset, end, chunk.fin);
        self.counters.bytes_acked += before.saturating_sub(outgoing.held());
        self.held = (self.held + outgoing.held()).saturating_sub(before);
        if outgoing.urgent.wants() {
            let is_urgent = outgoing.is_urgent();
            self.urgent.set(key, &mut outgoing.urgent, is_urgent);
        }
        if outgoing.is_finished() {
            let event = StreamEvent::Finished(stream.id);
            self.events.push_back(event);
            self.drop_outgoing(key);
        }
        if !self.writers.is_empty() {
            self.wake_reserved(key);
            self.wake_writers();
        }
    }

    /// Queues a run of one stream's bytes to be sent again, unless it is acknowledged first.
    pub(crate) fn on_lost(&mut self, chunk: &Chunk) {
        if let Some(outgoing) = self.outgoing_mut(chunk.slot) {
            let end = chunk.offset.saturating_add(u64::from(chunk.length));
            outgoing.on_lost(chunk.offset, end, chunk.fin);
            self.schedule(chunk.slot);
        }
    }

    pub(crate) fn on_item_acked(&mut self, item: &SentFrame) {
        match item {
            SentFrame::Stream(chunk) => self.on_acked(chunk),
            SentFrame::ResetStream(id) => {
                if let Some(key) = self.find(StreamId(*id))
                    && let Some(outgoing) = self.outgoing_mut(key)
                    && outgoing.reset_code().is_some()
                {
                    self.drop_outgoing(key);
                }
            }
            _ => {}
        }
    }

    /// Queues a lost frame to be sent again with current values, if it is still useful.
    pub(crate) fn on_item_lost(&mut self, item: &SentFrame) {
        match item {
            SentFrame::Stream(chunk) => self.on_lost(chunk),
            SentFrame::MaxData => self.receiving.pending = true,
            SentFrame::MaxStreams { bidi } => {
                self.theirs.get_mut(Dir::from_bidi(*bidi)).pending = true;
            }
            SentFrame::DataBlocked => self.sending.blocked_pending = self.is_blocked(),
            SentFrame::StreamsBlocked { bidi } => {
                let own = self.own.get_mut(Dir::from_bidi(*bidi));
                own.blocked_pending = own.wanted;
            }
            SentFrame::ResetStream(id)
            | SentFrame::StopSending(id)
            | SentFrame::MaxStreamData(id)
            | SentFrame::StreamDataBlocked(id) => self.on_stream_item_lost(StreamId(*id), item),
            _ => {}
        }
    }

    /// The peer refused early data: queues all of it to be sent again, under the limits that
    /// [`Streams::set_peer`] sets next.
    pub(crate) fn refuse_early(&mut self) {
        self.sending = Sending::default();
        self.initial = InitialStreamLimits::default();
        self.own.bidi.limit = 0;
        self.own.uni.limit = 0;
        let keys: Vec<u32> = self.slab.keys().collect();
        for key in keys {
            if let Some(stream) = self.slab.get_mut(key) {
                if let Some(outgoing) = &mut stream.outgoing {
                    outgoing.start_over();
                    stream.pending.reset = outgoing.reset_code().is_some();
                }
                if let Some(incoming) = &stream.incoming {
                    stream.pending.stop = incoming.stop_code().is_some();
                }
            }
            self.schedule(key);
        }
        self.turn = 0;
    }

    fn on_stream_item_lost(&mut self, id: StreamId, item: &SentFrame) {
        let Some(key) = self.find(id) else {
            return;
        };
        let Some(stream) = self.slab.get_mut(key) else {
            return;
        };
        match item {
            SentFrame::ResetStream(_) => stream.pending.reset = stream.outgoing.is_some(),
            SentFrame::StopSending(_) => stream.pending.stop = stream.incoming.is_some(),
            SentFrame::MaxStreamData(_) => {
                let incoming = stream.incoming.as_ref();
                stream.pending.max_data = incoming.is_some_and(Incoming::may_raise);
            }
            _ => {
                let outgoing = stream.outgoing.as_ref();
                stream.pending.blocked = outgoing.is_some_and(Outgoing::is_blocked);
            }
        }
        self.schedule(key);
    }

    /// Whether only the connection's limit holds data back.
    fn is_blocked(&self) -> bool {
        !self.ready.is_empty() && self.sending.credit() == 0
    }
}
