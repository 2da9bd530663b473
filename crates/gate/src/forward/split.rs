//! One stream, read and written by two futures of one task: an upload continues while its answer is
//! arriving.

use std::cell::{RefCell, RefMut};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream that two futures use. Each poll borrows it only for its own duration.
pub(crate) struct SplitStream<'a, S>(RefCell<&'a mut S>);

pub(crate) struct Reading<'h, 'a, S>(&'h SplitStream<'a, S>);
pub(crate) struct Writing<'h, 'a, S>(&'h SplitStream<'a, S>);

impl<'a, S> SplitStream<'a, S> {
    pub(crate) fn new(stream: &'a mut S) -> Self {
        Self(RefCell::new(stream))
    }

    pub(crate) fn reading(&self) -> Reading<'_, 'a, S> {
        Reading(self)
    }

    pub(crate) fn writing(&self) -> Writing<'_, 'a, S> {
        Writing(self)
    }
}

impl<'a, S> Reading<'_, 'a, S> {
    pub(crate) fn stream(&self) -> RefMut<'_, &'a mut S> {
        self.0.0.borrow_mut()
    }
}

impl<'a, S> Writing<'_, 'a, S> {
    pub(crate) fn stream(&self) -> RefMut<'_, &'a mut S> {
        self.0.0.borrow_mut()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Reading<'_, '_, S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut **self.0.0.borrow_mut()).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Writing<'_, '_, S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut **self.0.0.borrow_mut()).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut **self.0.0.borrow_mut()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut **self.0.0.borrow_mut()).poll_shutdown(cx)
    }
}
