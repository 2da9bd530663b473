//! A connection that carries one exchange after another, over any version of HTTP.

use std::pin::Pin;
use std::task::{Context, Waker};

use tokio::io::ReadBuf;

use crate::{ByteStream, HttpError, OnEnded, Quic, RequestRun, h1, h2};

pub enum Connection {
    H1(Box<dyn ByteStream>),
    H2(h2::H2Session),
    H3(Quic),
}

impl Connection {
    pub fn h1(stream: impl ByteStream + 'static) -> Self {
        Self::H1(Box::new(stream))
    }

    /// Begins HTTP/2: the preface waits for the first request and leaves with it.
    pub async fn h2(stream: impl ByteStream + 'static) -> Result<Self, HttpError> {
        Ok(Self::H2(h2::H2Session::open(stream).await?))
    }

    /// Carries one request and its response.
    pub async fn exchange(&mut self, run: RequestRun<'_>) -> Result<(), HttpError> {
        if let Self::H1(stream) = self {
            return h1::exchange(stream.as_mut(), run).await;
        }
        let mut outcome = Ok(());
        self.exchange_all(vec![run], &mut |_, ended| outcome = ended)
            .await;
        outcome
    }

    /// Carries several requests. If the protocol has streams, all leave at once, and one may fail
    /// without the others. Over HTTP/1.1 they are sent one after another.
    pub async fn exchange_all(&mut self, runs: Vec<RequestRun<'_>>, ended: &mut OnEnded<'_>) {
        match self {
            Self::H1(stream) => {
                for (place, run) in runs.into_iter().enumerate() {
                    ended(place, h1::exchange(stream.as_mut(), run).await);
                }
            }
            Self::H2(session) => session.exchange_all(runs, ended).await,
            Self::H3(quic) => quic.exchange_all(runs, ended).await,
        }
    }

    /// Whether several requests can be on their way at once.
    pub fn has_streams(&self) -> bool {
        !matches!(self, Self::H1(_))
    }

    /// The stream below HTTP/1.1, if the connection has one.
    pub fn stream(&mut self) -> Option<&mut dyn ByteStream> {
        match self {
            Self::H1(stream) => Some(stream.as_mut()),
            Self::H2(_) | Self::H3(_) => None,
        }
    }

    /// Whether the connection can carry another request, as far as the protocol knows.
    pub fn is_open(&self) -> bool {
        match self {
            Self::H1(_) => true,
            Self::H2(session) => session.is_open(),
            Self::H3(quic) => quic.is_open(),
        }
    }

    /// Whether there is nothing to read on an idle HTTP/1.1 connection, neither its end nor
    /// unrequested bytes. This also reads session tickets.
    pub fn is_quiet(&mut self) -> bool {
        let Self::H1(stream) = self else {
            return self.is_open();
        };
        let (mut byte, mut cx) = ([0; 1], Context::from_waker(Waker::noop()));
        let stream = Pin::new(stream.as_mut());
        stream
            .poll_read(&mut cx, &mut ReadBuf::new(&mut byte))
            .is_pending()
    }

    /// Closes the connection, so that the peer is not left with a half-open one.
    pub async fn close(self) {
        match self {
            Self::H1(mut stream) => {
                let _ = tokio::io::AsyncWriteExt::shutdown(&mut stream).await;
            }
            Self::H2(session) => session.close(),
            Self::H3(quic) => quic.close().await,
        }
    }
}
