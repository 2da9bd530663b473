//! The receiving half of a stream.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use roundtrip_quic::{Connection, Peek, ReadError, StreamId};

use crate::StreamError;
use crate::connection_wakers::ConnectionWakers;
use crate::handle::ConnectionHandle;

/// The largest number of bytes that one read returns.
const MAX_CHUNK: usize = 256 << 10;
/// The code with which a stream is stopped if it is dropped before its end. RFC 9114 §8.1.
const H3_NO_ERROR: u64 = 0x100;

/// The receiving half of a stream. If it is dropped before its end was read, the peer is asked to
/// stop sending.
pub struct RecvStream {
    connection: ConnectionHandle,
    id: StreamId,
    /// The stream's end was read, or the stream was stopped.
    is_ended: bool,
}

impl RecvStream {
    pub(crate) fn new(connection: &ConnectionHandle, id: StreamId) -> Self {
        connection.wakers(|wakers| wakers.add_receiver(id));
        Self {
            connection: connection.clone(),
            id,
            is_ended: false,
        }
    }

    pub fn id(&self) -> u64 {
        self.id.0
    }

    /// Reads the next bytes, at least one. `None` at the end.
    pub async fn read_chunk(&mut self) -> Result<Option<Bytes>, StreamError> {
        poll_fn(|cx| self.poll_read(cx)).await
    }

    pub fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamError>> {
        self.poll_read_some(cx, MAX_CHUNK, |_| (1, usize::MAX))
    }

    /// Closes the connection that the stream belongs to.
    pub(crate) fn close_connection(&self, code: u64, why: &[u8]) {
        self.connection.close(code, why);
    }

    /// Reads the next bytes, at least one and at most `most`. `None` at the end. `wanted` looks at
    /// the available bytes, and returns how many must be there, and how many are taken at most.
    pub(crate) fn poll_read_some(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
        wanted: impl Fn(&[u8]) -> (usize, usize),
    ) -> Poll<Result<Option<Bytes>, StreamError>> {
        if self.is_ended {
            return Poll::Ready(Ok(None));
        }
        let id = self.id;
        let polled = match self
            .connection
            .read(|c, wakers| read(c, wakers, id, cx, most, wanted))
        {
            Ok(polled) => polled,
            Err(reason) => Poll::Ready(Err(reason.into())),
        };
        if let Poll::Ready(Ok(None) | Err(StreamError::Reset(_) | StreamError::Ended)) = &polled {
            self.is_ended = true;
        }
        polled
    }

    /// Asks the peer to stop sending.
    pub fn stop(&mut self, code: u64) {
        if !self.is_ended {
            self.is_ended = true;
            let id = self.id;
            // If the connection has ended, no more data arrives.
            let _ = self.connection.update(|c, _, _| c.stop(id, code));
        }
    }
}

fn read(
    connection: &mut Connection,
    wakers: &mut ConnectionWakers,
    id: StreamId,
    cx: &Context<'_>,
    most: usize,
    wanted: impl Fn(&[u8]) -> (usize, usize),
) -> Poll<Result<Option<Bytes>, StreamError>> {
    let Some(receiver) = wakers.receiver(id) else {
        return Poll::Ready(Err(StreamError::Ended));
    };
    let bytes = match connection.peek(id) {
        Ok(Peek::Bytes(bytes)) => {
            // Looking at more than is taken would be done again for the next piece.
            let piece = bytes.get(..most).unwrap_or(bytes);
            let (least, taken) = wanted(piece);
            let taken = piece.len().min(taken);
            if bytes.len() >= least {
                Bytes::copy_from_slice(bytes.get(..taken).unwrap_or_default())
            } else if connection.awaits(id, least) {
                receiver.wait(cx);
                return Poll::Pending;
            } else {
                // The rest has arrived, or never will.
                front(connection, id, taken)
            }
        }
        Ok(Peek::Blocked) => {
            receiver.wait(cx);
            return Poll::Pending;
        }
        Ok(Peek::End) => return Poll::Ready(Ok(None)),
        Err(ReadError::Reset(code)) => return Poll::Ready(Err(StreamError::Reset(code))),
        Err(ReadError::Unknown) => return Poll::Ready(Err(StreamError::Ended)),
    };
    connection.consume(id, bytes.len());
    Poll::Ready(Ok(Some(bytes)))
}

fn front(connection: &mut Connection, id: StreamId, count: usize) -> Bytes {
    match connection.peek(id) {
        Ok(Peek::Bytes(bytes)) => Bytes::copy_from_slice(bytes.get(..count).unwrap_or_default()),
        _ => Bytes::new(),
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        self.stop(H3_NO_ERROR);
        let id = self.id;
        self.connection.wakers(|wakers| wakers.remove_receiver(id));
    }
}

impl fmt::Debug for RecvStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecvStream").field(&self.id.0).finish()
    }
}
