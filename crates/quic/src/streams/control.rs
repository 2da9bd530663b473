//! The stream frames without data: limits, resets, and reports that a limit holds data back. RFC
//! 9000 §19.

use roundtrip_wire::quic::{Frame, Pen};

use super::incoming::Incoming;
use super::stream::Stream;
use super::{Dir, Streams};
use crate::sent::SentFrame;

/// Where frames are written, and where the written ones are recorded.
struct FrameWriter<'a, 'b> {
    pen: &'a mut Pen<'b>,
    items: &'a mut Vec<SentFrame>,
}

impl Streams {
    pub(crate) fn has_control(&self) -> bool {
        !self.control.is_empty()
            || self.receiving.pending
            || self.sending.blocked_pending
            || self.theirs.bidi.pending
            || self.theirs.uni.pending
            || self.own.bidi.blocked_pending
            || self.own.uni.blocked_pending
    }

    /// Writes waiting frames as far as there is room, and records them in `items`.
    pub(crate) fn write_control(&mut self, pen: &mut Pen<'_>, items: &mut Vec<SentFrame>) {
        if !self.has_control() {
            return;
        }
        let mut page = FrameWriter { pen, items };
        if !self.write_limits(&mut page) {
            return;
        }
        while let Some(key) = self.control.front() {
            let Some(stream) = self.slab.get_mut(key) else {
                self.control.pop(None);
                continue;
            };
            if stream.control.wants() && !stream.write_pending(&mut page) {
                return;
            }
            self.control.pop(Some(&mut stream.control));
        }
    }

    /// Writes the frames about limits. Returns whether there was room for all, as do the functions
    /// below.
    fn write_limits(&mut self, page: &mut FrameWriter<'_, '_>) -> bool {
        if self.receiving.pending {
            let frame = Frame::MaxData(self.receiving.next_limit());
            if !page.write(&frame, SentFrame::MaxData) {
                return false;
            }
            self.receiving.raise();
        }
        if self.sending.blocked_pending {
            let frame = Frame::DataBlocked(self.sending.limit());
            if self.sending.credit() == 0 && !page.write(&frame, SentFrame::DataBlocked) {
                return false;
            }
            self.sending.blocked_pending = false;
        }
        Dir::ALL.into_iter().all(|dir| self.write_counts(dir, page))
    }

    fn write_counts(&mut self, dir: Dir, page: &mut FrameWriter<'_, '_>) -> bool {
        let bidi = dir.is_bidi();
        let theirs = self.theirs.get_mut(dir);
        if theirs.pending {
            let limit = theirs.next_limit();
            let frame = Frame::MaxStreams { bidi, limit };
            if !page.write(&frame, SentFrame::MaxStreams { bidi }) {
                return false;
            }
            theirs.raise();
        }
        let own = self.own.get_mut(dir);
        if own.blocked_pending {
            let limit = own.limit;
            let frame = Frame::StreamsBlocked { bidi, limit };
            if !page.write(&frame, SentFrame::StreamsBlocked { bidi }) {
                return false;
            }
            own.blocked_pending = false;
        }
        true
    }
}

impl Stream {
    fn write_pending(&mut self, page: &mut FrameWriter<'_, '_>) -> bool {
        self.write_ends(page) && self.write_max_data(page) && self.write_blocked(page)
    }

    fn write_ends(&mut self, page: &mut FrameWriter<'_, '_>) -> bool {
        let id = self.id.0;
        if self.pending.reset
            && let Some(outgoing) = &self.outgoing
            && let Some(code) = outgoing.reset_code()
        {
            let size = outgoing.sent();
            let frame = Frame::ResetStream { id, code, size };
            if !page.write(&frame, SentFrame::ResetStream(id)) {
                return false;
            }
        }
        self.pending.reset = false;
        if self.pending.stop
            && let Some(code) = self.incoming.as_ref().and_then(Incoming::stop_code)
        {
            let frame = Frame::StopSending { id, code };
            if !page.write(&frame, SentFrame::StopSending(id)) {
                return false;
            }
        }
        self.pending.stop = false;
        true
    }

    fn write_max_data(&mut self, page: &mut FrameWriter<'_, '_>) -> bool {
        if self.pending.max_data
            && let Some(incoming) = &mut self.incoming
            && incoming.may_raise()
        {
            let (id, limit) = (self.id.0, incoming.next_limit());
            let frame = Frame::MaxStreamData { id, limit };
            if !page.write(&frame, SentFrame::MaxStreamData(id)) {
                return false;
            }
            incoming.raise();
        }
        self.pending.max_data = false;
        true
    }

    fn write_blocked(&mut self, page: &mut FrameWriter<'_, '_>) -> bool {
        if self.pending.blocked
            && let Some(outgoing) = &self.outgoing
            && outgoing.is_blocked()
        {
            let (id, limit) = (self.id.0, outgoing.limit());
            let frame = Frame::StreamDataBlocked { id, limit };
            if !page.write(&frame, SentFrame::StreamDataBlocked(id)) {
                return false;
            }
        }
        self.pending.blocked = false;
        true
    }
}

impl FrameWriter<'_, '_> {
    fn write(&mut self, frame: &Frame<'_>, item: SentFrame) -> bool {
        let fits = frame.write(self.pen);
        if fits {
            self.items.push(item);
        }
        fits
    }
}
