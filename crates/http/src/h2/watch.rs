//! How the stream under HTTP/2 broke. The `h2` crate keeps of an error no more than its words; alerts, resets and ends
//! must be told apart, so they are kept on the way to it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use roundtrip_tls::TlsError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{HttpError, Stream};

/// The first trouble that a stream met.
#[derive(Clone, Default)]
pub(super) struct Breakage(Arc<Mutex<Option<HttpError>>>);

impl Breakage {
    /// For whoever asks first; what can be copied stays for the others.
    pub(super) fn tell(&self) -> Option<HttpError> {
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

    fn note(&self, error: HttpError) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }

    fn keep<T>(&self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.map_err(|error| {
            let kind = error.kind();
            self.note(error.into());
            kind.into()
        })
    }
}

pub(super) struct Watched<S> {
    stream: S,
    breakage: Breakage,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S) -> (Self, Breakage) {
        let breakage = Breakage::default();
        let watched = Self {
            stream,
            breakage: breakage.clone(),
        };
        (watched, breakage)
    }
}

impl<S: Stream> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let outcome = ready!(Pin::new(&mut self.stream).poll_read(cx, into));
        if outcome.is_ok() && into.filled().len() == before && into.remaining() > 0 {
            self.breakage.note(HttpError::ClosedUnanswered);
        }
        Poll::Ready(self.breakage.keep(outcome))
    }
}

impl<S: Stream> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        Poll::Ready(self.breakage.keep(outcome))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = ready!(Pin::new(&mut self.stream).poll_flush(cx));
        Poll::Ready(self.breakage.keep(outcome))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
