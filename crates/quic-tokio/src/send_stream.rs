//! The sending half of a stream.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use roundtrip_quic::{Connection, StreamId, WriteError};

use crate::StreamError;
use crate::connection_wakers::ConnectionWakers;
use crate::handle::ConnectionHandle;

/// The code with which a stream is reset if it is dropped before its end. RFC 9114 §8.1.
const H3_REQUEST_CANCELLED: u64 = 0x10c;

/// The sending half of a stream. Dropping it before [`finish`](Self::finish) resets it.
pub struct SendStream {
    connection: ConnectionHandle,
    id: StreamId,
    /// The stream was finished or reset.
    is_ended: bool,
}

impl SendStream {
    pub(crate) fn new(connection: &ConnectionHandle, id: StreamId) -> Self {
        // On a connection that has ended, each call returns the reason.
        let _ = connection.inspect(|connection, wakers, _| {
            wakers.add_sender(id, connection.stop_code(id));
        });
        Self {
            connection: connection.clone(),
            id,
            is_ended: false,
        }
    }

    pub fn id(&self) -> u64 {
        self.id.0
    }

    /// Writes a whole chunk, waiting for room in the connection.
    pub async fn write_chunk(&mut self, mut bytes: Bytes) -> Result<(), StreamError> {
        poll_fn(|cx| self.poll_write(cx, &mut bytes)).await
    }

    /// Takes bytes from the front of `bytes` as far as there is room. Ready once all bytes are
    /// taken.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &mut Bytes,
    ) -> Poll<Result<(), StreamError>> {
        let id = self.id;
        let written = self.connection.update(|connection, wakers, _| {
            while !bytes.is_empty() {
                match connection.write(id, bytes.clone()) {
                    Ok(0) => {
                        wakers.sender(id).ok_or(StreamError::Ended)?.wait(cx);
                        return Ok(false);
                    }
                    Ok(count) => bytes.advance(count),
                    Err(error) => return Err(stream_error(error, wakers, id)),
                }
            }
            Ok(true)
        });
        match written {
            Ok(Ok(true)) => Poll::Ready(Ok(())),
            Ok(Ok(false)) => Poll::Pending,
            Ok(Err(error)) => Poll::Ready(Err(error)),
            Err(reason) => Poll::Ready(Err(reason.into())),
        }
    }

    /// Ends the stream: nothing more will be written.
    pub fn finish(&mut self) -> Result<(), StreamError> {
        self.end(Connection::finish)
    }

    /// Resets the stream. Data that has not arrived is lost.
    pub fn reset(&mut self, code: u64) -> Result<(), StreamError> {
        self.end(|connection, id| connection.reset(id, code))
    }

    /// Ready once the peer has stopped the stream; never on a connection that has ended.
    pub fn poll_stopped(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.connection.poll_stopped(self.id, cx) {
            Poll::Ready(Ok(_)) => Poll::Ready(()),
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
        }
    }

    /// Waits until the peer has acknowledged everything, including the end.
    pub async fn delivered(&mut self) -> Result<(), StreamError> {
        let id = self.id;
        poll_fn(|cx| {
            let seen = self.connection.inspect(|_, wakers, _| {
                let sender = wakers.sender(id).ok_or(StreamError::Ended)?;
                if let Some(code) = sender.stopped {
                    return Err(StreamError::Stopped(code));
                }
                if !sender.delivered {
                    sender.wait(cx);
                }
                Ok(sender.delivered)
            });
            match seen {
                Ok(Ok(true)) => Poll::Ready(Ok(())),
                Ok(Ok(false)) => Poll::Pending,
                Ok(Err(error)) => Poll::Ready(Err(error)),
                Err(reason) => Poll::Ready(Err(reason.into())),
            }
        })
        .await
    }

    fn end(
        &mut self,
        end: impl FnOnce(&mut Connection, StreamId) -> Result<(), WriteError>,
    ) -> Result<(), StreamError> {
        self.is_ended = true;
        let id = self.id;
        self.connection.update(|connection, wakers, _| {
            end(connection, id).map_err(|error| stream_error(error, wakers, id))
        })?
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        let id = self.id;
        let removed = self.connection.wakers(|wakers| wakers.remove_sender(id));
        let mut sender = removed.flatten();
        if let Some(watcher) = sender.as_mut().and_then(|s| s.stop_watcher.take()) {
            watcher.wake();
        }
        if self.is_ended {
            return;
        }
        // If the connection has ended, there is nothing to reset.
        let _ = self
            .connection
            .update(|connection, _, _| connection.reset(id, H3_REQUEST_CANCELLED));
    }
}

impl fmt::Debug for SendStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SendStream").field(&self.id.0).finish()
    }
}

/// The engine forgets a stream once its reset has arrived, but the code that stopped it is still
/// stored here.
fn stream_error(error: WriteError, wakers: &mut ConnectionWakers, id: StreamId) -> StreamError {
    let stopped = wakers.sender(id).and_then(|sender| sender.stopped);
    match error {
        WriteError::Stopped(code) => StreamError::Stopped(code),
        WriteError::Finished | WriteError::Unknown => {
            stopped.map_or(StreamError::Ended, StreamError::Stopped)
        }
    }
}
