//! Remembers how the stream under HTTP/2 broke. The `h2` crate keeps only the text of an error;
//! alerts, resets and ends must be distinguished, so they are recorded on their way to it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use roundtrip_tls::TlsError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{ByteStream, HttpError};

/// The first error of a stream.
#[derive(Clone, Default)]
pub(super) struct FirstError(Arc<Mutex<Option<HttpError>>>);

impl FirstError {
    /// Takes the error, and leaves a copy if it can be copied.
    pub(super) fn get(&self) -> Option<HttpError> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let copy = match first.as_ref()? {
            HttpError::ClosedUnanswered => Some(HttpError::ClosedUnanswered),
            HttpError::Io(error) => Some(HttpError::Io(match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => error.kind().into(),
            })),
            HttpError::Tls(TlsError::Protocol(error)) => {
                Some(HttpError::Tls(TlsError::Protocol(error.clone())))
            }
            _ => None,
        };
        std::mem::replace(&mut *first, copy)
    }

    fn record(&self, error: HttpError) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }

    fn pass<T>(&self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.map_err(|error| {
            let kind = error.kind();
            self.record(error.into());
            kind.into()
        })
    }
}

/// A stream that records its first error.
pub(super) struct ErrorRecorder<S> {
    stream: S,
    first: FirstError,
}

impl<S> ErrorRecorder<S> {
    pub(super) fn new(stream: S) -> (Self, FirstError) {
        let first = FirstError::default();
        let recorder = Self {
            stream,
            first: first.clone(),
        };
        (recorder, first)
    }
}

impl<S: ByteStream> AsyncRead for ErrorRecorder<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let outcome = ready!(Pin::new(&mut self.stream).poll_read(cx, into));
        if outcome.is_ok() && into.filled().len() == before && into.remaining() > 0 {
            self.first.record(HttpError::ClosedUnanswered);
        }
        Poll::Ready(self.first.pass(outcome))
    }
}

impl<S: ByteStream> AsyncWrite for ErrorRecorder<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        Poll::Ready(self.first.pass(outcome))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = ready!(Pin::new(&mut self.stream).poll_flush(cx));
        Poll::Ready(self.first.pass(outcome))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
