//! tokio's `AsyncRead` and `AsyncWrite` for a stream.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::early::Early;
use super::{MAX_GATHERED, Stream};

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if into.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        loop {
            match this.read_plain(into) {
                // Zero is a clean end (close_notify).
                Ok(_) => {
                    this.settle_facts();
                    return Poll::Ready(Ok(()));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                // Truncation without close_notify: HTTP's framing shows whether anything is
                // missing.
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Poll::Ready(Ok(())),
                Err(e) => return Poll::Ready(Err(e)),
            }
            if this.closed {
                let cut = this.tls.is_handshaking();
                return Poll::Ready(if cut {
                    Err(io::ErrorKind::UnexpectedEof.into())
                } else {
                    Ok(())
                });
            }
            // A user that reads before it writes, as HTTP/2 does, would send a first flight without
            // its early data.
            if matches!(this.early, Early::Open(_))
                && !std::mem::replace(&mut this.has_waited, true)
            {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            // A full socket must not prevent reading: two peers that both write would deadlock.
            if let Poll::Ready(Err(e)) = this.poll_push(cx) {
                // The peer can have closed for reading and still have sent the reason.
                this.outgoing.give_back();
                if ready!(this.poll_pull(cx)).is_err() {
                    return Poll::Ready(Err(e));
                }
                continue;
            }
            ready!(this.poll_pull(cx))?;
        }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if data.is_empty() {
            return Poll::Ready(Ok(0));
        }
        if this.outgoing.bytes().len() >= MAX_GATHERED {
            ready!(this.poll_push(cx))?;
        }
        let n = ready!(this.poll_take(cx, data))?;
        this.gather_if_large()?;
        Poll::Ready(Ok(n))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_push(cx))?;
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_close_notify(cx))?;
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
