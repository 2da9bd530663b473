//! The limits of the connection as a whole: bytes to send and receive, and streams that each side
//! may open. RFC 9000 §4.

use roundtrip_wire::quic::MAX_VARINT;

use super::table::StreamTable;
use crate::Code;
use crate::error::TransportError;

/// The number of bytes that the peer may send on all streams.
#[derive(Debug)]
pub(super) struct Receiving {
    window: u64,
    /// The limit that the peer was sent.
    limit: u64,
    received: u64,
    consumed: u64,
    /// MAX_DATA must be sent.
    pub(super) pending: bool,
}

/// What this side may send on all streams.
#[derive(Debug, Default)]
pub(super) struct Sending {
    limit: u64,
    sent: u64,
    /// DATA_BLOCKED must be sent.
    pub(super) blocked_pending: bool,
    blocked_at: Option<u64>,
}

/// Streams of one direction that this side opens.
#[derive(Debug, Default)]
pub(super) struct Own {
    pub(super) table: StreamTable,
    /// The peer allows this many in total.
    pub(super) limit: u64,
    /// The application asked for a stream, and the peer's limit did not allow one.
    pub(super) wanted: bool,
    /// STREAMS_BLOCKED must be sent.
    pub(super) blocked_pending: bool,
    blocked_at: Option<u64>,
}

/// Streams of one direction that the peer opens.
#[derive(Debug)]
pub(super) struct Theirs {
    pub(super) table: StreamTable,
    /// The number of streams that the application has accepted.
    pub(super) accepted: u64,
    /// The number of streams that may be open at once.
    window: u64,
    /// The limit that the peer was sent: a total.
    limit: u64,
    /// The number of streams that have ended.
    closed: u64,
    /// MAX_STREAMS must be sent.
    pub(super) pending: bool,
    /// An event about new streams was queued, but the application has not polled it.
    pub(super) told: bool,
}

/// The largest number of streams of one kind that can exist. RFC 9000 §4.6.
pub(super) const MAX_STREAM_COUNT: u64 = 1 << 60;

impl Receiving {
    pub(super) fn new(window: u64) -> Self {
        let window = window.min(MAX_VARINT);
        Self {
            window,
            limit: window,
            received: 0,
            consumed: 0,
            pending: false,
        }
    }

    /// Sets how much may come before it is read, from now on; the limit already sent stays valid.
    pub(super) fn set_window(&mut self, window: u64) {
        let has_grown = window > self.window;
        self.window = window.min(MAX_VARINT);
        if has_grown {
            self.consume(0);
        }
    }

    /// Counts that many new bytes.
    #[inline]
    pub(super) fn receive(&mut self, fresh: u64) -> Result<(), TransportError> {
        if self.received + fresh > self.limit {
            let why = "more was sent on all streams than the connection's limit allows";
            return Err(TransportError::new(Code::FLOW_CONTROL_ERROR, why));
        }
        self.received += fresh;
        Ok(())
    }

    pub(super) fn consume(&mut self, count: u64) {
        self.consumed += count;
        if self.next_limit() - self.limit >= self.window.div_ceil(2).max(1) {
            self.pending = true;
        }
    }

    /// Notes that the peer reports to be blocked.
    pub(super) fn hurry(&mut self) {
        self.pending |= self.next_limit() > self.limit;
    }

    pub(super) fn next_limit(&self) -> u64 {
        let limit = self.consumed.saturating_add(self.window);
        limit.min(MAX_VARINT).max(self.limit)
    }

    /// The peer is being sent [`Receiving::next_limit`].
    pub(super) fn raise(&mut self) {
        self.limit = self.next_limit();
        self.pending = false;
    }

    pub(super) fn received(&self) -> u64 {
        self.received
    }
}

impl Sending {
    #[inline]
    pub(super) fn credit(&self) -> u64 {
        self.limit - self.sent
    }

    #[inline]
    pub(super) fn send(&mut self, count: u64) {
        self.sent += count;
    }

    pub(super) fn raise(&mut self, limit: u64) {
        if limit > self.limit {
            self.limit = limit;
            self.blocked_pending = false;
        }
    }

    /// Notes that only this limit holds data back; the peer is informed once. RFC 9000 §19.12.
    pub(super) fn note_blocked(&mut self) {
        if self.blocked_at != Some(self.limit) {
            self.blocked_at = Some(self.limit);
            self.blocked_pending = true;
        }
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }
}

impl Own {
    /// Notes that this side is blocked: the peer is informed once of each limit. RFC 9000 §19.14.
    pub(super) fn note_blocked(&mut self) {
        if self.blocked_at != Some(self.limit) {
            self.blocked_at = Some(self.limit);
            self.blocked_pending = true;
        }
    }
}

impl Theirs {
    pub(super) fn new(window: u64) -> Self {
        Self {
            table: StreamTable::default(),
            accepted: 0,
            window: window.min(MAX_STREAM_COUNT),
            limit: window.min(MAX_STREAM_COUNT),
            closed: 0,
            pending: false,
            told: false,
        }
    }

    pub(super) fn check(&self, index: u64) -> Result<(), TransportError> {
        if index >= self.limit {
            let why = "more streams were opened than the limit allows";
            return Err(TransportError::new(Code::STREAM_LIMIT_ERROR, why));
        }
        Ok(())
    }

    /// Sets how many may be open at once, from now on; the limit already sent stays valid.
    pub(super) fn set_window(&mut self, window: u64) {
        let has_grown = window > self.window;
        self.window = window.min(MAX_STREAM_COUNT);
        if has_grown {
            self.note_due();
        }
    }

    /// Notes that one of the streams has ended.
    pub(super) fn close(&mut self) {
        self.closed += 1;
        self.note_due();
    }

    fn note_due(&mut self) {
        if self.next_limit() - self.limit >= self.window.div_ceil(2).max(1) {
            self.pending = true;
        }
    }

    /// Notes that the peer reports to be blocked.
    pub(super) fn hurry(&mut self) {
        self.pending |= self.next_limit() > self.limit;
    }

    pub(super) fn next_limit(&self) -> u64 {
        let limit = self
            .closed
            .saturating_add(self.window)
            .min(MAX_STREAM_COUNT);
        limit.max(self.limit)
    }

    /// The peer is being sent [`Theirs::next_limit`].
    pub(super) fn raise(&mut self) {
        self.limit = self.next_limit();
        self.pending = false;
    }
}
