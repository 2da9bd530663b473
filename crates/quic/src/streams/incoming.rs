//! The receiving half of a stream: the received data, in any order, and the read position. RFC 9000
//! §3.2, §4.

use roundtrip_wire::quic::MAX_VARINT;

use super::pieces::Pieces;
use super::ring::{ByteRing, Spares};
use crate::error::TransportError;
use crate::{Code, Time};

/// The largest distance that a stream may be ahead of its reader, whatever its window.
const MAX_AHEAD: u64 = 1 << 30;

#[derive(Debug, Default)]
pub(super) struct Incoming {
    ring: ByteRing,
    /// Everything before this offset was read.
    read: u64,
    /// All bytes before this offset have arrived.
    whole: u64,
    /// The highest offset that arrived, or that the peer's reset stated.
    highest: u64,
    /// The limit that the peer was last sent.
    limit: u64,
    window: u64,
    /// The received data beyond `whole`.
    later: Pieces,
    /// The final size. RFC 9000 §4.5.
    size: Option<u64>,
    state: RecvState,
    /// An event was queued, but the application has not polled it.
    pub(super) told: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum RecvState {
    #[default]
    Open,
    /// The application has stopped the stream with this code: further data is dropped.
    Stopped(u64),
    /// The peer reset it with this code, or it was abandoned when no more data was expected.
    Reset(u64),
    /// The stream was abandoned with this code, but the application does not know that yet: further
    /// data is dropped.
    GivenUp(u64),
}

/// The result for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    Bytes(usize),
    Blocked,
    End,
    Reset(u64),
    GivenUp(u64),
    /// The application wanted no more.
    Stopped,
}

/// The effects of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Arrived {
    /// Whether there is something new for the reader.
    pub(super) is_news: bool,
    /// Bytes that will not be read: the connection's window may advance by them.
    pub(super) dropped: u64,
    /// Whether this half of the stream is no longer needed.
    pub(super) is_over: bool,
}

impl Incoming {
    /// `limit` is the limit that was announced to the peer at first.
    pub(super) fn new(limit: u64, window: u64) -> Self {
        Self {
            window: window.min(MAX_VARINT),
            limit: limit.min(MAX_VARINT),
            ..Self::default()
        }
    }

    /// Sets how much may come before it is read, from now on; the limit already sent stays valid.
    pub(super) fn set_window(&mut self, window: u64) {
        self.window = window.min(MAX_VARINT);
    }

    /// Checks that data may reach up to `end`, and end there if `fin`. Returns how many of the
    /// bytes count against the connection's limit. RFC 9000 §4.1, §4.5.
    #[inline]
    pub(super) fn check(&self, end: u64, fin: bool) -> Result<u64, TransportError> {
        if let Some(size) = self.size {
            if end > size || (fin && end != size) {
                return Err(TransportError::new(
                    Code::FINAL_SIZE_ERROR,
                    "the final size of a stream changed",
                ));
            }
        } else if fin && end < self.highest {
            let why = "a stream ends before data that was sent on it";
            return Err(TransportError::new(Code::FINAL_SIZE_ERROR, why));
        }
        if end > self.limit {
            let why = "more was sent on a stream than its limit allows";
            return Err(TransportError::new(Code::FLOW_CONTROL_ERROR, why));
        }
        if end > self.read.saturating_add(MAX_AHEAD) {
            let why = "more of a stream is unread than can be buffered";
            return Err(TransportError::new(Code::INTERNAL_ERROR, why));
        }
        Ok(end.saturating_sub(self.highest))
    }

    /// Takes data that has been checked.
    #[inline]
    pub(super) fn take(
        &mut self,
        offset: u64,
        data: &[u8],
        fin: bool,
        now: Time,
        spares: &mut Spares,
    ) -> Arrived {
        let end = offset + data.len() as u64;
        if fin {
            self.size = Some(end);
        }
        match self.state {
            RecvState::Open => {}
            RecvState::Stopped(_) | RecvState::GivenUp(_) => {
                return self.drop_up_to(end.max(self.highest), spares);
            }
            RecvState::Reset(_) => return Arrived::default(),
        }
        let before = self.whole;
        let known = self.whole.saturating_sub(offset).min(data.len() as u64);
        if let Some(data) = data.get(known as usize..)
            && !data.is_empty()
        {
            self.keep(offset.max(self.whole), data, now, spares);
        }
        self.highest = self.highest.max(end);
        Arrived {
            is_news: self.whole > before || (fin && self.is_whole()),
            ..Arrived::default()
        }
    }

    #[inline]
    fn keep(&mut self, offset: u64, data: &[u8], now: Time, spares: &mut Spares) {
        if offset > self.whole {
            self.later.insert(offset, data, now, spares);
            return;
        }
        self.append(data, spares);
        if !self.later.is_empty() {
            self.join(spares);
        }
    }

    #[inline]
    fn append(&mut self, data: &[u8], spares: &mut Spares) {
        let kept = (self.whole - self.read) as usize;
        self.ring.reach(kept + data.len(), kept, spares);
        self.ring.put(kept, data);
        self.whole += data.len() as u64;
    }

    /// Appends the data that followed a gap which has now been filled.
    #[cold]
    fn join(&mut self, spares: &mut Spares) {
        while let Some((start, bytes)) = self.later.take(self.whole, spares) {
            let known = usize::try_from(self.whole - start).unwrap_or(usize::MAX);
            if let Some(fresh) = bytes.get(known..) {
                self.append(fresh, spares);
            }
        }
    }

    /// The peer reset the stream; its size has been checked.
    pub(super) fn reset(&mut self, code: u64, size: u64, spares: &mut Spares) -> Arrived {
        let was_whole = self.is_whole();
        self.size = Some(size);
        match self.state {
            RecvState::Stopped(_) | RecvState::GivenUp(_) => return self.drop_up_to(size, spares),
            RecvState::Reset(_) => return Arrived::default(),
            // All data has arrived, including the end, so the reset has no effect. RFC 9000 §3.2.
            RecvState::Open if was_whole => return Arrived::default(),
            RecvState::Open => {}
        }
        self.state = RecvState::Reset(code);
        self.ring.rest(spares);
        Arrived {
            is_news: true,
            is_over: false,
            ..self.drop_up_to(size, spares)
        }
    }

    /// Handles the application's wish to read no more. If the final size is known, the peer is not
    /// informed.
    pub(super) fn stop(&mut self, code: u64, spares: &mut Spares) -> Arrived {
        if self.state == RecvState::Open {
            self.state = RecvState::Stopped(code);
        }
        self.ring.rest(spares);
        self.drop_up_to(self.highest, spares)
    }

    /// Gives up data that does not come: the reader gets this code.
    pub(super) fn give_up(&mut self, code: u64, spares: &mut Spares) -> Arrived {
        self.ring.rest(spares);
        let arrived = self.drop_up_to(self.highest, spares);
        self.state = if arrived.is_over {
            RecvState::Reset(code)
        } else {
            RecvState::GivenUp(code)
        };
        Arrived {
            is_news: true,
            is_over: false,
            ..arrived
        }
    }

    /// Notes that the application has learned that the stream was abandoned.
    pub(super) fn on_told_given_up(&mut self) {
        if let RecvState::GivenUp(code) = self.state {
            self.state = RecvState::Stopped(code);
        }
    }

    fn drop_up_to(&mut self, end: u64, spares: &mut Spares) -> Arrived {
        let dropped = end.saturating_sub(self.read);
        self.later.clear(spares);
        self.highest = end;
        self.whole = end;
        self.read = end;
        Arrived {
            is_news: false,
            dropped,
            is_over: self.size == Some(end),
        }
    }

    pub(super) fn offer(&self) -> Offer {
        match self.state {
            RecvState::Reset(code) => Offer::Reset(code),
            RecvState::Stopped(_) => Offer::Stopped,
            RecvState::GivenUp(code) => Offer::GivenUp(code),
            RecvState::Open if self.whole > self.read => {
                Offer::Bytes((self.whole - self.read) as usize)
            }
            RecvState::Open if self.size == Some(self.read) => Offer::End,
            RecvState::Open => Offer::Blocked,
        }
    }

    /// Whether fewer than `least` bytes can be read, and the peer can still send the others.
    pub(super) fn awaits(&self, least: usize) -> bool {
        let least = least as u64;
        let has_room = least <= self.limit - self.read && !self.is_whole();
        self.state == RecvState::Open && has_room && self.whole - self.read < least
    }

    /// The next bytes, as far as they are contiguous.
    pub(super) fn front(&self) -> &[u8] {
        self.ring.front((self.whole - self.read) as usize)
    }

    /// Consumes bytes, and returns how many there were.
    pub(super) fn consume(&mut self, count: usize, spares: &mut Spares) -> u64 {
        let count = (self.whole - self.read).min(count as u64);
        self.read += count;
        if self.read == self.whole {
            self.ring.rest(spares);
        } else {
            self.ring.advance(count as usize);
            self.ring.shrink((self.whole - self.read) as usize, spares);
        }
        count
    }

    /// Whether half of the window was read since the last limit was sent, and the peer has more to
    /// send.
    pub(super) fn is_limit_due(&self) -> bool {
        self.may_raise() && self.next_limit() - self.limit >= self.window.div_ceil(2).max(1)
    }

    /// Whether the peer may send more than it was told.
    pub(super) fn is_limit_stale(&self) -> bool {
        self.may_raise() && self.next_limit() > self.limit
    }

    /// Whether a new limit would be of use to the peer.
    pub(super) fn may_raise(&self) -> bool {
        self.size.is_none() && self.state == RecvState::Open
    }

    pub(super) fn next_limit(&self) -> u64 {
        let limit = self.read.saturating_add(self.window);
        limit.min(MAX_VARINT).max(self.limit)
    }

    /// The peer is being sent [`Incoming::next_limit`].
    pub(super) fn raise(&mut self) {
        self.limit = self.next_limit();
    }

    pub(super) fn release(&mut self, spares: &mut Spares) {
        self.ring.rest(spares);
        self.later.clear(spares);
    }

    /// The time since which data has waited behind a gap.
    pub(super) fn has_hole_since(&self) -> Option<Time> {
        self.later.since()
    }

    /// The code with which the application stopped the stream.
    pub(super) fn stop_code(&self) -> Option<u64> {
        match self.state {
            RecvState::Stopped(code) | RecvState::GivenUp(code) => Some(code),
            _ => None,
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.state, RecvState::Stopped(_))
    }

    fn is_whole(&self) -> bool {
        self.size == Some(self.whole)
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    #[cfg(test)]
    pub(super) fn pieces(&self) -> usize {
        self.later.len()
    }
}
