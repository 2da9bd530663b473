//! What can go wrong between the ClientHello and the last record.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{0}")]
    Protocol(#[from] rustls::Error),
    #[error("{0}")]
    Io(io::Error),
    #[error("the peer closed the connection during the handshake")]
    Closed,
    #[error("'{0}' cannot be a server's name in TLS")]
    ServerName(String),
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path} holds no {what} in PEM form")]
    Pem { path: PathBuf, what: &'static str },
    #[error("no trusted certificates found; looked in {}", .0.join(", "))]
    NoRoots(Vec<String>),
    #[error("the certificate and the key do not fit: {0}")]
    Identity(rustls::Error),
}

impl From<io::Error> for TlsError {
    /// A `Stream` hands TLS errors through `AsyncRead` as `io::Error`; here they come out again.
    fn from(error: io::Error) -> Self {
        match error.downcast::<rustls::Error>() {
            Ok(tls) => Self::Protocol(tls),
            Err(io) if io.kind() == io::ErrorKind::UnexpectedEof => Self::Closed,
            Err(io) => Self::Io(io),
        }
    }
}
