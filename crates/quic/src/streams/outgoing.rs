//! The sending half of a stream: the written data, and which of it was sent, lost and acknowledged.
//! RFC 9000 §3.1.
//!
//! Pieces are kept as they were written, and dropped when all of a piece is acknowledged.
//! `assembly` decides whose turn it is, and how much the connection as a whole may send.

use std::collections::VecDeque;

use bytes::Bytes;
use roundtrip_wire::quic::Pen;

use super::WriteError;
use super::fit::Fit;
use super::turn::QueueState;
use crate::spans::Spans;

/// The cost of a piece in addition to its bytes, so that many small pieces fill the buffer, too.
pub(super) const PIECE_COST: u64 = 64;

#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// The data from offset `acked` on, and the number of bytes of the first piece that are before
    /// `acked`.
    pieces: VecDeque<SentPiece>,
    /// The piece that contains `next`.
    cursor: usize,
    /// Everything before this offset was acknowledged.
    acked: u64,
    /// Everything before this offset was sent.
    next: u64,
    /// Everything before this offset was written.
    end: u64,
    /// The peer lets this side send up to this offset.
    limit: u64,
    /// The acknowledged ranges beyond `acked`.
    islands: Spans,
    /// The ranges to be sent again.
    lost: Spans,
    fin: Fin,
    /// The stream was reset with this code.
    reset: Option<u64>,
    /// The peer asked for the reset.
    stopped: bool,
    /// The last limit that was reported as blocking. RFC 9000 §19.13.
    blocked_at: Option<u64>,
    /// The stream's writer waits until the peer lets it send more.
    pub(super) waits_for_limit: bool,
    /// The stream's places in the queues for new data, lost data, and waiting writers.
    pub(super) ready: QueueState,
    pub(super) urgent: QueueState,
    pub(super) writer: QueueState,
}

#[derive(Debug)]
struct SentPiece {
    start: u64,
    data: Bytes,
}

/// The end of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Fin {
    /// The end was not written.
    #[default]
    Open,
    /// The end has to be sent, for the first time or again.
    Waiting,
    Sent,
    Acked,
}

/// The data that was written into a packet.
pub(super) struct Written {
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) fin: bool,
}

impl Outgoing {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Writes the next new bytes, at most `credit`. Returns `None` if there is no room or nothing
    /// to send.
    #[inline]
    pub(super) fn write_new(&mut self, id: u64, credit: u64, pen: &mut Pen<'_>) -> Option<Written> {
        let offset = self.next;
        let most = self.sendable().min(credit);
        if most == 0 {
            return None;
        }
        let fit = Fit::find(pen.room(), id, offset, most)?;
        let next = offset + fit.length as u64;
        let fin = self.fin == Fin::Waiting && next == self.end;
        fit.write_header(pen, id, offset, fin);
        self.cursor = self.copy(self.cursor, offset, fit.length, pen);
        self.next = next;
        if fin {
            self.fin = Fin::Sent;
        }
        Some(Written {
            offset,
            length: fit.length as u32,
            fin,
        })
    }

    /// Writes lost data, or an end without data. Neither is subject to the peer's limits.
    pub(super) fn write_again(&mut self, id: u64, pen: &mut Pen<'_>) -> Option<Written> {
        let (offset, upto) = match self.lost.first() {
            Some(span) => (span.start, span.end),
            None if self.has_bare_end() => (self.end, self.end),
            None => return None,
        };
        let fit = Fit::find(pen.room(), id, offset, upto - offset)?;
        let next = offset + fit.length as u64;
        let fin = self.has_bare_end() && next == self.end;
        fit.write_header(pen, id, offset, fin);
        let behind = self.pieces.partition_point(|piece| piece.start <= offset);
        self.copy(behind.saturating_sub(1), offset, fit.length, pen);
        self.lost.cut(next);
        if fin {
            self.fin = Fin::Sent;
        }
        Some(Written {
            offset,
            length: fit.length as u32,
            fin,
        })
    }

    /// Copies `left` bytes from offset `at`, which is in the piece `index`; returns the piece that
    /// holds the next byte.
    #[inline]
    fn copy(&self, mut index: usize, mut at: u64, mut left: usize, pen: &mut Pen<'_>) -> usize {
        while left > 0 {
            let Some(piece) = self.pieces.get(index) else {
                debug_assert!(false, "what was written is kept until it is acknowledged");
                return index;
            };
            let rest = piece.data.get((at - piece.start) as usize..);
            let rest = rest.unwrap_or_default();
            if rest.len() > left {
                pen.bytes(rest.get(..left).unwrap_or_default());
                return index;
            }
            pen.bytes(rest);
            at += rest.len() as u64;
            left -= rest.len();
            index += 1;
        }
        index
    }

    /// The code with which the peer stopped the stream.
    pub(super) fn stop_code(&self) -> Option<u64> {
        self.reset.filter(|_| self.stopped)
    }

    pub(super) fn check_open(&self) -> Result<(), WriteError> {
        match self.reset {
            Some(code) if self.stopped => Err(WriteError::Stopped(code)),
            None if self.fin == Fin::Open => Ok(()),
            _ => Err(WriteError::Finished),
        }
    }

    /// `data` must not be empty.
    pub(super) fn push(&mut self, data: Bytes) {
        let start = self.end;
        self.end += data.len() as u64;
        self.pieces.push_back(SentPiece { start, data });
    }

    pub(super) fn finish(&mut self) {
        self.fin = Fin::Waiting;
    }

    /// Drops all that was written.
    pub(super) fn cut_off(&mut self, code: u64, stopped: bool) {
        self.reset = Some(code);
        self.stopped = stopped;
        self.waits_for_limit = false;
        self.pieces = VecDeque::new();
        self.cursor = 0;
        self.islands.clear();
        self.lost.clear();
    }

    /// The run was acknowledged.
    pub(super) fn on_acked(&mut self, start: u64, end: u64, fin: bool) {
        if fin && self.fin != Fin::Open && self.next == self.end {
            self.fin = Fin::Acked;
        }
        let end = end.min(self.next);
        if start >= end || end <= self.acked || self.reset.is_some() {
            return;
        }
        if !self.lost.is_empty() {
            self.lost.remove(start, end);
        }
        if start > self.acked {
            self.islands.insert(start, end);
            return;
        }
        self.acked = end;
        while let Some(end) = self.islands.join(self.acked) {
            self.acked = self.acked.max(end);
        }
        while let Some(piece) = self.pieces.front()
            && piece.start + piece.data.len() as u64 <= self.acked
        {
            self.pieces.pop_front();
            self.cursor = self.cursor.saturating_sub(1);
        }
    }

    /// Handles the loss of a run: it is sent again, except for parts that were acknowledged since.
    pub(super) fn on_lost(&mut self, start: u64, end: u64, fin: bool) {
        if self.reset.is_some() {
            return;
        }
        if fin && self.fin == Fin::Sent {
            self.fin = Fin::Waiting;
        }
        let (start, end) = (start.max(self.acked), end.min(self.next));
        self.lost.insert(start, end);
        for island in self.islands.within(start, end) {
            self.lost.remove(island.start, island.end);
        }
    }

    /// Treats everything as unsent: the peer refused early data, and its limits are not known.
    pub(super) fn start_over(&mut self) {
        self.next = self.acked;
        self.cursor = 0;
        self.limit = 0;
        self.blocked_at = None;
        self.islands.clear();
        self.lost.clear();
        if self.fin != Fin::Open {
            self.fin = Fin::Waiting;
        }
    }

    pub(super) fn raise(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }

    /// Returns whether the stream's limit blocks it and was not reported yet.
    pub(super) fn note_blocked(&mut self) -> bool {
        let is_new = self.is_blocked() && self.blocked_at != Some(self.limit);
        if is_new {
            self.blocked_at = Some(self.limit);
        }
        is_new
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.reset.is_none() && self.next >= self.limit && self.end > self.limit
    }

    /// The new bytes that the peer lets this stream send.
    #[inline]
    pub(super) fn sendable(&self) -> u64 {
        if self.reset.is_some() {
            return 0;
        }
        self.end.min(self.limit).saturating_sub(self.next)
    }

    /// Whether there is something to send that no limit restricts.
    pub(super) fn is_urgent(&self) -> bool {
        !self.lost.is_empty() || self.has_bare_end()
    }

    fn has_bare_end(&self) -> bool {
        self.fin == Fin::Waiting && self.next == self.end && self.reset.is_none()
    }

    /// Whether everything was acknowledged, including the end.
    pub(super) fn is_finished(&self) -> bool {
        self.fin == Fin::Acked && self.acked == self.end
    }

    /// The number of bytes of the send buffer that this stream uses.
    pub(super) fn held(&self) -> u64 {
        if self.reset.is_some() {
            return 0;
        }
        self.end - self.acked + PIECE_COST * self.pieces.len() as u64
    }

    /// The number of bytes that may still be written within the peer's limit for this stream.
    pub(super) fn allowed(&self) -> u64 {
        self.limit.saturating_sub(self.end)
    }

    /// The number of bytes that were written beyond the peer's limit for this stream.
    pub(super) fn beyond(&self) -> u64 {
        self.end.saturating_sub(self.limit)
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// The number of sent bytes, which is the final size of a stream that is reset.
    pub(super) fn sent(&self) -> u64 {
        self.next
    }

    pub(super) fn reset_code(&self) -> Option<u64> {
        self.reset
    }
}
