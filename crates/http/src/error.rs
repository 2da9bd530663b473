//! What can go wrong between a request and the last byte of its response.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("the peer closed the connection before it answered")]
    ClosedUnanswered,
    #[error("the peer closed the connection in the middle of the response's head")]
    ClosedInHead,
    #[error("the answer is not HTTP; it begins with \"{0}\"")]
    NotHttp(String),
    #[error("the response's head is larger than {limit} bytes")]
    HeadTooLarge { limit: usize },
    #[error("the response's head is malformed: {0}")]
    Malformed(&'static str),
    #[error("the body ended after {got} of {expected} bytes")]
    BodyCutShort { got: u64, expected: u64 },
    #[error("the body ended within a chunk, after {got} bytes")]
    ChunksCutShort { got: u64 },
    #[error("the body's encoding ({encoding}) is invalid: {source}")]
    Encoding {
        encoding: &'static str,
        source: io::Error,
    },
    #[error("the body could not be written: {0}")]
    Sink(io::Error),
    #[error("too many interim responses (over {0})")]
    TooManyInterim(usize),
    #[error("the proxy answered {status} {reason}")]
    Proxy { status: u16, reason: String },
    #[error("{0} cannot be sent")]
    Unsendable(String),
    #[error("HTTP/2: {0}")]
    H2(#[from] ::h2::Error),
    #[error("HTTP/3: {0}")]
    H3(String),
    #[error("QUIC: {0}")]
    Quic(crate::QuicError),
    #[error("QUIC cannot connect: {0}")]
    QuicConnect(#[from] quinn::ConnectError),
    #[error(transparent)]
    Io(io::Error),
    #[error(transparent)]
    Tls(roundtrip_tls::TlsError),
}

impl From<io::Error> for HttpError {
    /// TLS errors travel through byte streams as `io::Error`; here they come out again.
    fn from(error: io::Error) -> Self {
        match roundtrip_tls::TlsError::from(error) {
            roundtrip_tls::TlsError::Io(io) => Self::Io(io),
            roundtrip_tls::TlsError::Closed => Self::ClosedUnanswered,
            tls => Self::Tls(tls),
        }
    }
}

/// Text from a peer, cut and cleaned for a message.
pub(crate) fn shown(bytes: &[u8]) -> String {
    bytes
        .iter()
        .take(40)
        .flat_map(|b| std::ascii::escape_default(*b))
        .map(char::from)
        .collect()
}
