//! What HTTP/3 needs from a QUIC connection and its streams.

use std::task::{Context, Poll};

use bytes::Bytes;
use roundtrip_wire::h3::Code;

use crate::StreamError;

/// Accepts the streams of a QUIC connection, and opens those of one direction.
pub trait H3Transport: Unpin {
    type Sending: H3Sending;
    type Receiving: H3Receiving;

    fn poll_accept_bi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Halves<Self>, StreamError>>;

    fn poll_accept_uni(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::Receiving, StreamError>>;

    fn poll_open_uni(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::Sending, StreamError>>;

    /// Closes the connection. Undelivered data is lost.
    fn close(&self, code: Code, why: &str);
}

/// Both halves of a stream.
pub type Halves<T> = (<T as H3Transport>::Sending, <T as H3Transport>::Receiving);

/// The sending half of a stream.
pub trait H3Sending: Unpin {
    fn id(&self) -> u64;

    /// Takes bytes from the front of `bytes` as far as there is room. Ready once all bytes are
    /// taken.
    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &mut Bytes,
    ) -> Poll<Result<(), StreamError>>;

    /// Ready once the peer has stopped the stream; never on a connection that has ended.
    fn poll_stopped(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Ends the stream: nothing more will be written.
    fn finish(&mut self) -> Result<(), StreamError>;

    /// Resets the stream, unless it has ended.
    fn reset(&mut self, code: Code);
}

/// The receiving half of a stream.
pub trait H3Receiving: Unpin {
    /// Reads the next bytes, at least one and at most `most`. `None` at the end.
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
    ) -> Poll<Result<Option<Bytes>, StreamError>>;

    /// Like [`poll_read`](Self::poll_read), but first passes the next bytes to `wanted`, which
    /// returns how many must be there before any are taken, and the largest number to take. Bytes
    /// that are not taken count against the limits of the connection. A transport that cannot look
    /// ahead simply reads.
    fn poll_read_wanted(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
        _wanted: impl Fn(&[u8]) -> (usize, usize),
    ) -> Poll<Result<Option<Bytes>, StreamError>> {
        self.poll_read(cx, most)
    }

    /// Asks the peer to stop sending, unless the stream has ended.
    fn stop(&mut self, code: Code);

    /// Closes the connection that the stream belongs to.
    fn close(&self, code: Code, why: &str);
}
