//! What comes on a stream, up to an allowance.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h3::error::Code;
use h3::quic::{self, StreamErrorIncoming, StreamId};

use super::{id, stream_lost, varint};

/// How much the engine may read until it must have made something of it.
#[derive(Debug, Clone)]
pub(in crate::front::h3) struct Allowance(Rc<Cell<usize>>);

impl Allowance {
    pub(super) fn of(bytes: usize) -> Self {
        Self(Rc::new(Cell::new(bytes)))
    }

    /// From now on.
    pub(in crate::front::h3) fn grant(&self, bytes: usize) {
        self.0.set(bytes);
    }
}

pub(in crate::front::h3) struct Receiving {
    stream: quinn::RecvStream,
    allowance: Allowance,
}

impl Receiving {
    pub(super) fn new(stream: quinn::RecvStream, allowance: Allowance) -> Self {
        Self { stream, allowance }
    }
}

impl quic::RecvStream for Receiving {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let left = self.allowance.0.get();
        if left == 0 {
            let error_code = Code::H3_EXCESSIVE_LOAD.value();
            return Poll::Ready(Err(StreamErrorIncoming::StreamTerminated { error_code }));
        }
        // Nothing is lost with a reading that is begun anew.
        let read = ready!(pin!(self.stream.read_chunk(left, true)).poll(cx));
        let chunk = read.map_err(broken)?.map(|chunk| chunk.bytes);
        let came = chunk.as_ref().map_or(0, Bytes::len);
        self.allowance.0.set(left.saturating_sub(came));
        Poll::Ready(Ok(chunk))
    }

    fn stop_sending(&mut self, code: u64) {
        // It may have ended already.
        let _ = self.stream.stop(varint(code));
    }

    fn recv_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

fn broken(error: quinn::ReadError) -> StreamErrorIncoming {
    match error {
        quinn::ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into_inner(),
        },
        quinn::ReadError::ConnectionLost(error) => stream_lost(error),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}
