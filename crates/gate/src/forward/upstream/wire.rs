//! The byte stream to a server: TCP, TLS over it, or one exchange's stream of an HTTP/2 connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use roundtrip_net::Plain;
use roundtrip_tls::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::h2;
use super::pool::Poolable;

pub(crate) enum Wire {
    Clear(Plain),
    Secure(Box<Stream<Plain>>),
    Shared(Box<h2::H2Stream>),
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Wire").field(&self.plain()).finish()
    }
}

impl Wire {
    /// The socket of a connection with one owner.
    pub(crate) fn plain(&self) -> Option<&Plain> {
        match self {
            Self::Clear(plain) => Some(plain),
            Self::Secure(stream) => Some(stream.get_ref()),
            Self::Shared(_) => None,
        }
    }

    pub(crate) fn is_secure(&self) -> bool {
        match self {
            Self::Clear(_) => false,
            Self::Secure(_) => true,
            Self::Shared(stream) => stream.is_secure(),
        }
    }
}

impl Poolable for Wire {
    /// Makes a system call only if something has arrived. TLS tickets are processed, and do not
    /// count as data.
    fn is_quiet(&mut self) -> bool {
        match self {
            Self::Clear(plain) => plain.is_quiet(),
            Self::Secure(stream) => {
                let mut byte = [0];
                let mut context = Context::from_waker(Waker::noop());
                Pin::new(&mut **stream)
                    .poll_read(&mut context, &mut ReadBuf::new(&mut byte))
                    .is_pending()
            }
            // A stream belongs to one exchange only.
            Self::Shared(_) => false,
        }
    }

    /// A TLS ticket counts as data.
    fn is_quiet_now(&mut self) -> bool {
        self.plain().is_some_and(Plain::is_quiet_now)
    }

    /// Sends close_notify, if the socket takes it at once. RFC 8446 §6.1.
    fn close(mut self) {
        if let Self::Secure(stream) = &mut self {
            let mut context = Context::from_waker(Waker::noop());
            let _ = Pin::new(&mut **stream).poll_shutdown(&mut context);
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(plain) => Pin::new(plain).poll_read(cx, into),
            Self::Secure(stream) => {
                let before = into.filled().len();
                ready!(Pin::new(&mut **stream).poll_read(cx, into))?;
                // Without close_notify, an attacker on the path could have truncated an answer that
                // has no length.
                let cut = into.filled().len() == before && into.remaining() > 0 && stream.is_cut();
                Poll::Ready(if cut {
                    Err(io::ErrorKind::ConnectionAborted.into())
                } else {
                    Ok(())
                })
            }
            Self::Shared(stream) => Pin::new(&mut **stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Clear(plain) => Pin::new(plain).poll_write(cx, data),
            Self::Secure(stream) => Pin::new(&mut **stream).poll_write(cx, data),
            Self::Shared(stream) => Pin::new(&mut **stream).poll_write(cx, data),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Clear(plain) => Pin::new(plain).poll_write_vectored(cx, data),
            Self::Secure(stream) => Pin::new(&mut **stream).poll_write_vectored(cx, data),
            Self::Shared(stream) => Pin::new(&mut **stream).poll_write_vectored(cx, data),
        }
    }

    fn is_write_vectored(&self) -> bool {
        matches!(self, Self::Clear(_))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(plain) => Pin::new(plain).poll_flush(cx),
            Self::Secure(stream) => Pin::new(&mut **stream).poll_flush(cx),
            Self::Shared(stream) => Pin::new(&mut **stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(plain) => Pin::new(plain).poll_shutdown(cx),
            Self::Secure(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
            Self::Shared(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
        }
    }
}
