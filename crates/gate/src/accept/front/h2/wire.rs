//! The byte stream below the `h2` engine, watched for what the engine does not report: the end of
//! the handshake, and idleness.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frames::Frames;
use crate::accept::front::signal::Signal;
use crate::accept::stream::Stream;

pub(super) struct Wire<IO> {
    stream: IO,
    confirmed: Rc<Signal>,
    rest: Rc<Cell<bool>>,
    frames: Rc<Frames>,
}

impl<IO: Stream> Wire<IO> {
    /// Once `rest` is set, the next read frees the stream's buffers.
    pub(super) fn new(
        stream: IO,
        confirmed: Rc<Signal>,
        rest: Rc<Cell<bool>>,
        frames: Rc<Frames>,
    ) -> Self {
        Self {
            stream,
            confirmed,
            rest,
            frames,
        }
    }
}

impl<IO: Stream> AsyncRead for Wire<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rest.take() {
            self.stream.rest();
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        let came = buf.filled().get(before..).unwrap_or_default();
        if !self.frames.take(came) {
            // The connection's owner is also notified, and ends it.
            return Poll::Pending;
        }
        // The next read returns the error.
        if !self.confirmed.is_given()
            && let Poll::Ready(Ok(())) = self.stream.poll_confirmed(cx)
        {
            self.confirmed.give();
        }
        read
    }
}

impl<IO: Stream> AsyncWrite for Wire<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
