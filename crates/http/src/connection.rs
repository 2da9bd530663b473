//! A connection that carries one exchange after another, whatever it speaks.

use roundtrip_model::{HttpFacts, Recorder};

use crate::{HttpError, Quic, Request, Sink, Stream, h1, h2};

pub enum Connection {
    H1(Box<dyn Stream>),
    H2(h2::Session),
    H3(Quic),
}

impl Connection {
    pub fn h1(stream: impl Stream + 'static) -> Self {
        Self::H1(Box::new(stream))
    }

    /// Begins HTTP/2: the preface waits for the first request and leaves with it.
    pub async fn h2(stream: impl Stream + 'static) -> Result<Self, HttpError> {
        Ok(Self::H2(h2::Session::open(stream).await?))
    }

    /// Sends `request`, writes the body to `sink`, and fills `facts` as far as things went.
    /// With `decode`, a compressed body is taken apart.
    pub async fn exchange(
        &mut self,
        request: &Request,
        decode: bool,
        recorder: &Recorder,
        sink: &mut dyn Sink,
        facts: &mut HttpFacts,
    ) -> Result<(), HttpError> {
        match self {
            Self::H1(stream) => {
                h1::exchange(stream.as_mut(), request, decode, recorder, sink, facts).await
            }
            Self::H2(session) => {
                session
                    .exchange(request, decode, recorder, sink, facts)
                    .await
            }
            Self::H3(quic) => quic.exchange(request, decode, recorder, sink, facts).await,
        }
    }

    /// The stream below HTTP/1.1, where one is.
    pub fn stream(&mut self) -> Option<&mut dyn Stream> {
        match self {
            Self::H1(stream) => Some(stream.as_mut()),
            Self::H2(_) | Self::H3(_) => None,
        }
    }

    /// Can another request travel on it, as far as the protocol knows?
    pub fn is_open(&self) -> bool {
        match self {
            Self::H1(_) => true,
            Self::H2(session) => session.is_open(),
            Self::H3(quic) => quic.is_open(),
        }
    }

    /// Says goodbye, so that the peer is not left with a half-open connection.
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
