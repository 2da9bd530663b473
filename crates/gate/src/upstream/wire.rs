//! The byte stream to a server: TCP, or TLS over it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use roundtrip_net::Plain;
use roundtrip_tls::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::pool::Carrier;

pub(crate) enum Wire {
    Clear(Plain),
    Secure(Box<Stream<Plain>>),
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Wire").field(self.plain()).finish()
    }
}

impl Wire {
    pub(crate) fn plain(&self) -> &Plain {
        match self {
            Self::Clear(plain) => plain,
            Self::Secure(stream) => stream.get_ref(),
        }
    }

    pub(crate) fn is_secure(&self) -> bool {
        matches!(self, Self::Secure(_))
    }
}

impl Carrier for Wire {
    /// Costs no system call unless something came. Tickets that came over TLS are taken in on the way, and are no answer.
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
        }
    }

    /// TLS says goodbye, if the socket takes it at once. RFC 8446 §6.1.
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
            Self::Secure(stream) => Pin::new(&mut **stream).poll_read(cx, into),
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
        }
    }

    fn is_write_vectored(&self) -> bool {
        !self.is_secure()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(plain) => Pin::new(plain).poll_flush(cx),
            Self::Secure(stream) => Pin::new(&mut **stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Clear(plain) => Pin::new(plain).poll_shutdown(cx),
            Self::Secure(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
        }
    }
}
