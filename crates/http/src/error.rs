//! The errors between a request and the last byte of its response.

mod quic;

use std::io;

use h2::Reason;

pub use quic::QuicError;

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
    /// The peer sent RST, RST_STREAM or RESET_STREAM; `expected` is the length of the whole body,
    /// if known.
    #[error("the peer reset the {what} after {got}{} bytes of the body", .expected.map_or_else(String::new, |n| format!(" of {n}")))]
    BodyReset {
        what: String,
        got: u64,
        expected: Option<u64>,
    },
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
    H2(#[from] h2::Error),
    #[error("HTTP/3: {0}")]
    H3(String),
    /// The server refused the request by GOAWAY or with H3_REQUEST_REJECTED.
    #[error("HTTP/3: the server did not take the request: {0}")]
    H3Rejected(String),
    #[error("QUIC: {0}")]
    Quic(QuicError),
    #[error("QUIC cannot connect: {0}")]
    QuicConnect(#[from] roundtrip_quic::ConnectError),
    #[error(transparent)]
    Io(io::Error),
    #[error(transparent)]
    Tls(roundtrip_tls::TlsError),
}

impl HttpError {
    /// Whether the server has stated that it did not act on the request. Then even a POST may be
    /// sent again. RFC 9113 §8.7, RFC 9114 §4.1.1.
    pub fn is_unprocessed(&self) -> bool {
        match self {
            Self::H2(error) => {
                let reason = error.reason();
                error.is_remote()
                    && (reason == Some(Reason::REFUSED_STREAM)
                        || (error.is_go_away() && reason == Some(Reason::NO_ERROR)))
            }
            Self::H3Rejected(_) => true,
            _ => false,
        }
    }

    /// Whether the server's certificate did not verify.
    pub fn is_certificate_refusal(&self) -> bool {
        match self {
            Self::Tls(error) => error.is_certificate_refusal(),
            Self::Quic(error) => matches!(error, QuicError::Certificate(_)),
            _ => false,
        }
    }

    /// Whether the connection has ended, and all its requests with it.
    pub fn is_connection_gone(&self) -> bool {
        match self {
            Self::H2(error) => error.is_io() || error.is_go_away(),
            Self::Quic(error) => !matches!(error, QuicError::Certificate(_) | QuicError::Alert(_)),
            Self::ClosedUnanswered | Self::Io(_) | Self::H3Rejected(_) => true,
            _ => false,
        }
    }
}

impl From<io::Error> for HttpError {
    /// TLS errors travel through byte streams as `io::Error`; this unwraps them.
    fn from(error: io::Error) -> Self {
        match roundtrip_tls::TlsError::from(error) {
            roundtrip_tls::TlsError::Io(io) => Self::Io(io),
            roundtrip_tls::TlsError::Closed => Self::ClosedUnanswered,
            tls => Self::Tls(tls),
        }
    }
}

/// Whether the peer reset the connection.
pub(crate) fn is_reset(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
    )
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
