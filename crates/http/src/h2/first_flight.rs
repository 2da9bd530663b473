//! Keeps the first flight whole. The `h2` crate reads before it writes its requests, and a read pushes what was gathered
//! so far to the socket: the preface would leave alone, and a SYN with it. Reading waits for the first flush.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) struct FirstFlight<S> {
    inner: S,
    flushed: bool,
    /// Who wanted to read before.
    reader: Option<Waker>,
}

impl<S> FirstFlight<S> {
    pub(super) fn new(inner: S) -> Self {
        Self {
            inner,
            flushed: false,
            reader: None,
        }
    }

    fn release(&mut self) {
        self.flushed = true;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FirstFlight<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.flushed {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FirstFlight<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write(cx, data);
        // What the socket does not take, or not any more, may have its reason among what there is to read.
        if !matches!(outcome, Poll::Ready(Ok(_))) {
            self.release();
        }
        outcome
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.release();
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.release();
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Notes what is done to it.
    #[derive(Clone, Default)]
    struct Notebook(Arc<Mutex<Vec<&'static str>>>);

    impl Notebook {
        fn note(&self, what: &'static str) {
            self.0.lock().unwrap().push(what);
        }
    }

    impl AsyncRead for Notebook {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            self.note("read");
            Poll::Pending
        }
    }

    impl AsyncWrite for Notebook {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            data: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.note("write");
            Poll::Ready(Ok(data.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.note("flush");
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn nothing_is_read_before_all_is_written() {
        let notebook = Notebook::default();
        let stream = FirstFlight::new(notebook.clone());
        let (mut send, connection) = ::h2::client::handshake(stream).await.unwrap();
        let request = http::Request::get("https://a/").body(()).unwrap();
        let (_response, _) = send.send_request(request, true).unwrap();
        tokio::spawn(connection);
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        let notes = notebook.0.lock().unwrap();
        let first = |what| notes.iter().position(|note| *note == what);
        let (read, flush) = (first("read").unwrap(), first("flush").unwrap());
        assert!(flush < read, "{notes:?}");
        // The preface, and then settings and request.
        assert_eq!(notes[..read].iter().filter(|n| **n == "write").count(), 2);
    }
}
