//! The byte stream under HTTP/1.1 and 2.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use roundtrip_tls::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A byte stream under HTTP: a socket, TLS over it, or TLS through a proxy's tunnel.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for T {}

/// TLS under HTTP/1.1. An end without close_notify is an error, because it does not show that a
/// body is complete. RFC 9112 §9.8.
pub(crate) struct EndChecked(pub(crate) Stream<Box<dyn ByteStream>>);

impl AsyncRead for EndChecked {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.0).poll_read(cx, into))?;
        let is_end = into.filled().len() == before && into.remaining() > 0;
        Poll::Ready(if is_end && self.0.is_cut() {
            Err(io::ErrorKind::UnexpectedEof.into())
        } else {
            Ok(())
        })
    }
}

impl AsyncWrite for EndChecked {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
