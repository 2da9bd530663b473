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

impl TlsError {
    /// Did the peer's certificate not verify?
    pub fn is_certificate_refusal(&self) -> bool {
        matches!(self, Self::Protocol(rustls::Error::InvalidCertificate(_)))
    }
}

/// Why a stored session is of no use. Without it there is a full handshake.
#[derive(Debug, thiserror::Error)]
pub enum StoredSessionError {
    #[error("the kept session is damaged: its {0} is not what was written")]
    Damaged(&'static str),
    #[error("the kept session has form {0}, which this version does not read")]
    Version(u8),
    #[error("the session was kept for {kept}, not for {asked}")]
    OtherName { kept: String, asked: String },
    #[error("the session was kept for {}, not for {}", carrier(*.0), carrier(!.0))]
    OtherCarrier(bool),
    #[error("the session was kept under other trusted certificates or another client certificate")]
    OtherTrust,
    #[error("the session was received later than now: the clock was set back")]
    FromTheFuture,
    #[error("the session's ticket has expired")]
    TicketExpired,
    #[error("the server's certificate has expired since the session was kept")]
    CertificateExpired,
    #[error("the kept session is not one that TLS can resume: {0}")]
    Refused(#[source] rustls::Error),
}

fn carrier(quic: bool) -> &'static str {
    if quic { "QUIC" } else { "TCP" }
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
