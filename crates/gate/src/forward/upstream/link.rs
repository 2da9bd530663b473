//! A connection while it belongs to one exchange.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use roundtrip_net::Plain;
use tokio::time::Instant;

use super::pool::PooledConnection;
use super::pools::PoolSlot;
use super::wire::Wire;

/// The largest number of bytes that are read at once from a server; larger buffers are not kept.
const MAX_BUFFER_SIZE: usize = 64 * 1024;
const MAX_BUFFERS: usize = 32;

/// A connection that one exchange holds. Dropping it closes it, and says nothing about the server.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) stream: Wire,
    /// Bytes that were read from it and not yet used.
    pub(crate) buffer: Vec<u8>,
    reused: bool,
    since: Instant,
    carried: u32,
    slot: PoolSlot<Wire>,
    buffers: ReadBuffers,
}

/// What an exchange tells the pool about the connection that it holds.
#[derive(Clone, Copy)]
pub(crate) struct HeldConnection<'a>(&'a PoolSlot<Wire>);

/// How an exchange left its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The answer was read to its end: another exchange may use the connection.
    Kept,
    /// The answer was received, but the connection cannot be used again.
    Spent,
    /// The request could not be sent over it.
    Unused,
    /// A kept connection turned out to be closed. That says nothing about the server.
    Stale,
    /// The server did not process the request, and said so.
    Refused,
    /// The server failed: it broke off, was silent, or sent something invalid.
    Failed,
}

/// One of the servers of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerIndex(pub(super) usize);

/// Buffers of unused connections: an idle connection holds none.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadBuffers(Rc<RefCell<Vec<Vec<u8>>>>);

impl Link {
    pub(super) fn new(
        slot: PoolSlot<Wire>,
        kept: PooledConnection<Wire>,
        reused: bool,
        buffers: &ReadBuffers,
    ) -> Self {
        Self {
            stream: kept.carrier,
            buffer: buffers.take(),
            reused,
            since: kept.since,
            carried: kept.carried,
            slot,
            buffers: buffers.clone(),
        }
    }

    /// Whether the connection was open before this exchange, so that it may be closed by now.
    pub(crate) fn is_reused(&self) -> bool {
        self.reused
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.stream.is_secure()
    }

    pub(crate) fn server(&self) -> ServerIndex {
        ServerIndex(self.slot.server())
    }

    /// Whether a request that failed in this way may wait again like a new one.
    pub(crate) fn may_wait_again(&self, why: &io::Error) -> bool {
        matches!(&self.stream, Wire::Shared(stream) if stream.may_wait_again(why))
    }

    /// Whether the first write opens the connection (fast open). Only that write shows whether a
    /// server listens.
    pub(crate) fn is_deferred(&self) -> bool {
        self.carried == 0 && self.stream.plain().is_some_and(Plain::is_deferred)
    }

    /// The parts, for reading and writing at the same time.
    pub(crate) fn parts(&mut self) -> (&mut Wire, &mut Vec<u8>, HeldConnection<'_>) {
        (
            &mut self.stream,
            &mut self.buffer,
            HeldConnection(&self.slot),
        )
    }

    pub(crate) fn finish(self, fate: Fate) {
        let counts = self.slot.counts();
        let first = self.stream.plain().filter(|_| self.is_deferred());
        if first.is_some_and(Plain::saved_a_round_trip) {
            counts.fast_opened.add(1);
        }
        match fate {
            Fate::Kept | Fate::Spent => {
                counts.answered(self.slot.server());
                self.slot.succeeded();
            }
            Fate::Unused | Fate::Stale | Fate::Refused => {}
            Fate::Failed => {
                counts.failed.add(1);
                counts.failed_at(self.slot.server(), None);
                if !matches!(&self.stream, Wire::Shared(stream) if stream.is_counted()) {
                    self.slot.failed();
                }
            }
        }
        // Unexpected bytes would be taken for the next answer.
        let fit = fate == Fate::Kept && self.buffer.is_empty();
        self.buffers.put(self.buffer);
        match self.stream {
            Wire::Shared(stream) => match fate {
                Fate::Kept => stream.end(),
                // If the answer is incomplete, this resets the stream.
                Fate::Spent | Fate::Unused => drop(stream),
                Fate::Refused => stream.refused(),
                Fate::Stale | Fate::Failed => stream.blame(),
            },
            carrier if fit => self.slot.keep(PooledConnection {
                carrier,
                since: self.since,
                carried: self.carried.saturating_add(1),
            }),
            _ => {}
        }
    }
}

impl HeldConnection<'_> {
    /// Notes that the request is complete, so that another upload may begin.
    pub(crate) fn uploaded(self) {
        self.0.uploaded();
    }

    /// Notes that the connection is a tunnel or a stream from now on, so it leaves the pool.
    pub(crate) fn detach(self) {
        self.0.detach();
    }

    /// Whether the client reads the answer more slowly than it should.
    pub(crate) fn client_is_slow(self, slow: bool) {
        self.0.client_is_slow(slow);
    }

    /// Whether slow clients hold more connections than they may, while other requests wait.
    pub(crate) fn is_needed(self) -> bool {
        self.0.is_needed()
    }
}

impl ReadBuffers {
    fn take(&self) -> Vec<u8> {
        let kept = self.0.borrow_mut().pop();
        kept.unwrap_or_else(|| Vec::with_capacity(4096))
    }

    fn put(&self, mut buffer: Vec<u8>) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < MAX_BUFFERS && buffer.capacity() <= MAX_BUFFER_SIZE {
            buffer.clear();
            kept.push(buffer);
        }
    }
}
