//! What goes on a stream.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, StreamErrorIncoming, StreamId, WriteBuf};

use super::{id, stream_lost, varint};

pub(in crate::front::h3) struct Sending {
    stream: quinn::SendStream,
    writing: Option<WriteBuf<Bytes>>,
    /// It may be let go of as it is.
    settled: bool,
    ours: Ours,
}

/// Has the engine left the answer to us? Before, it refuses heads by itself, and lets go of its answer for QUIC to end.
#[derive(Debug, Clone, Default)]
pub(in crate::front::h3) struct Ours(Rc<Cell<bool>>);

impl Ours {
    pub(in crate::front::h3) fn take(&self) {
        self.0.set(true);
    }
}

impl Sending {
    /// Of an answer: to let go of it without its end is to reset it.
    pub(super) fn of_request(stream: quinn::SendStream, ours: Ours) -> Self {
        Self {
            stream,
            writing: None,
            settled: false,
            ours,
        }
    }

    /// For as long as the connection lives.
    pub(super) fn aside(stream: quinn::SendStream) -> Self {
        let mut sending = Self::of_request(stream, Ours::default());
        sending.settled = true;
        sending
    }
}

/// QUIC would end the stream as if all had been said, and the client would take a part for the whole.
impl Drop for Sending {
    fn drop(&mut self) {
        if !self.settled && self.ours.0.get() {
            let _ = self
                .stream
                .reset(varint(Code::H3_REQUEST_CANCELLED.value()));
        }
    }
}

impl quic::SendStream<Bytes> for Sending {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let Some(data) = &mut self.writing {
            while data.has_remaining() {
                let wrote = Pin::new(&mut self.stream).poll_write(cx, data.chunk());
                data.advance(ready!(wrote).map_err(broken)?);
            }
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.writing.is_some() {
            let busy = std::io::Error::other("the stream still writes");
            return Err(StreamErrorIncoming::Unknown(Box::new(busy)));
        }
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        self.settled = true;
        let finished = self.stream.finish();
        Poll::Ready(finished.map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
    }

    fn reset(&mut self, code: u64) {
        self.settled = true;
        let _ = self.stream.reset(varint(code));
    }

    fn send_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

fn broken(error: quinn::WriteError) -> StreamErrorIncoming {
    match error {
        quinn::WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into_inner(),
        },
        quinn::WriteError::ConnectionLost(error) => stream_lost(error),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}
