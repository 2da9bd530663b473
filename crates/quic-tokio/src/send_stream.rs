//! The half of a stream that is written.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use roundtrip_quic::{Connection, StreamId, WriteError};

use crate::connection_wakers::Berth;
use crate::{Link, StreamError};

/// What is let go of unfinished was given up. RFC 9114 §8.1: H3_REQUEST_CANCELLED.
const GIVEN_UP: u64 = 0x10c;

/// Let go of before its end was written, it is reset.
pub struct Sending {
    link: Link,
    id: StreamId,
    /// Its end was written, or it was cut off.
    settled: bool,
}

impl Sending {
    /// `cut` says what letting go of it unfinished does: cut it off, or end it.
    pub(crate) fn new(link: &Link, id: StreamId, cut: bool) -> Self {
        link.note(|berth| berth.add_sender(id, cut));
        Self {
            link: link.clone(),
            id,
            settled: false,
        }
    }

    pub fn id(&self) -> u64 {
        self.id.0
    }

    /// Writes all of it, as the connection has room.
    pub async fn write(&mut self, mut bytes: Bytes) -> Result<(), StreamError> {
        poll_fn(|cx| self.poll_write(cx, &mut bytes)).await
    }

    /// Takes from the front of `bytes` what there is room for; ready once nothing is left.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &mut Bytes,
    ) -> Poll<Result<(), StreamError>> {
        let id = self.id;
        let written = self.link.act(|connection, berth, _| {
            while !bytes.is_empty() {
                match connection.write(id, bytes.clone()) {
                    Ok(0) => {
                        berth.sender(id).ok_or(StreamError::Over)?.wait(cx);
                        return Ok(false);
                    }
                    Ok(count) => bytes.advance(count),
                    Err(error) => return Err(refused(error, berth, id)),
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

    /// Nothing more will be written.
    pub fn finish(&mut self) -> Result<(), StreamError> {
        self.settle(Connection::finish)
    }

    /// Gives it up: what did not arrive never will.
    pub fn reset(&mut self, code: u64) -> Result<(), StreamError> {
        self.settle(|connection, id| connection.reset(id, code))
    }

    /// Waits until all of it has arrived, its end too.
    pub async fn delivered(&mut self) -> Result<(), StreamError> {
        let id = self.id;
        poll_fn(|cx| {
            let seen = self.link.peep(|_, berth, _| {
                let sender = berth.sender(id).ok_or(StreamError::Over)?;
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

    fn settle(
        &mut self,
        settle: impl FnOnce(&mut Connection, StreamId) -> Result<(), WriteError>,
    ) -> Result<(), StreamError> {
        self.settled = true;
        let id = self.id;
        self.link.act(|connection, berth, _| {
            settle(connection, id).map_err(|error| refused(error, berth, id))
        })?
    }

    /// For as long as the connection lives: neither its end nor a reset is sent when it is let go of.
    pub(crate) fn keep(&mut self) {
        self.settled = true;
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let (id, settled) = (self.id, self.settled);
        let mut sender = self.link.note(|berth| berth.remove_sender(id)).flatten();
        if let Some(watcher) = sender.as_mut().and_then(|sender| sender.watcher.take()) {
            watcher.wake();
        }
        if settled {
            return;
        }
        let cut = sender.is_none_or(|sender| sender.cut);
        // Where it is over, there is nothing to end.
        let _ = self.link.act(|connection, _, _| {
            if cut {
                connection.reset(id, GIVEN_UP)
            } else {
                connection.finish(id)
            }
        });
    }
}

impl fmt::Debug for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sending").field(&self.id.0).finish()
    }
}

/// The engine forgets a stream once its reset has arrived; why it was stopped is known here.
fn refused(error: WriteError, berth: &mut Berth, id: StreamId) -> StreamError {
    let stopped = berth.sender(id).and_then(|sender| sender.stopped);
    match error {
        WriteError::Stopped(code) => StreamError::Stopped(code),
        WriteError::Finished | WriteError::Unknown => {
            stopped.map_or(StreamError::Over, StreamError::Stopped)
        }
    }
}
