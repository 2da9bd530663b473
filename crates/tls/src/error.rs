//! Errors between the ClientHello and the last record.

use std::io;
use std::path::PathBuf;

use rustls::CertificateError;

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{}", described(.0))]
    Protocol(#[from] rustls::Error),
    #[error("{0}")]
    Io(io::Error),
    #[error("the peer closed the connection during the handshake")]
    Closed,
    #[error("'{0}' is not a valid server name for TLS")]
    ServerName(String),
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path} contains no {what} in PEM format")]
    Pem { path: PathBuf, what: &'static str },
    #[error("no trusted certificates found; looked in {}", .0.join(", "))]
    NoRoots(Vec<String>),
    #[error("the certificate and the key do not match: {0}")]
    Identity(rustls::Error),
}

impl TlsError {
    /// Whether the peer's certificate failed verification.
    pub fn is_certificate_refusal(&self) -> bool {
        matches!(self, Self::Protocol(rustls::Error::InvalidCertificate(_)))
    }
}

/// Whether a certificate was refused because it is a CA certificate, not that of a server.
pub fn is_an_authoritys(error: &CertificateError) -> bool {
    // webpki's own error type is not accessible here, but its text contains its name.
    matches!(error, CertificateError::Other(why) if format!("{why:?}").contains("CaUsedAsEndEntity"))
}

/// The error in words. rustls would show one of them as `Other(OtherError(CaUsedAsEndEntity))`.
fn described(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(certificate) if is_an_authoritys(certificate) => {
            "invalid peer certificate: it is an authority's (CA:TRUE), not a server's".to_owned()
        }
        other => other.to_string(),
    }
}

/// The reason why a stored session cannot be used; a full handshake takes place instead.
#[derive(Debug, thiserror::Error)]
pub enum StoredSessionError {
    #[error("the stored session is damaged: its {0} has changed")]
    Damaged(&'static str),
    #[error("the stored session has format version {0}, which this version cannot read")]
    Version(u8),
    #[error("the session was stored for {kept}, not for {asked}")]
    OtherName { kept: String, asked: String },
    #[error("the session was stored for {}, not for {}", carrier(*.0), carrier(!.0))]
    OtherCarrier(bool),
    #[error("the session was stored with other trusted certificates or another client certificate")]
    OtherTrust,
    #[error("the session was received in the future: the clock was set back")]
    FromTheFuture,
    #[error("the session's ticket has expired")]
    TicketExpired,
    #[error("the server's certificate has expired since the session was stored")]
    CertificateExpired,
    #[error("TLS cannot resume the stored session: {0}")]
    Refused(#[source] rustls::Error),
}

fn carrier(quic: bool) -> &'static str {
    if quic { "QUIC" } else { "TCP" }
}

impl From<io::Error> for TlsError {
    /// A `Stream` passes TLS errors through `AsyncRead` as `io::Error`; this unwraps them.
    fn from(error: io::Error) -> Self {
        match error.downcast::<rustls::Error>() {
            Ok(tls) => Self::Protocol(tls),
            Err(io) if io.kind() == io::ErrorKind::UnexpectedEof => Self::Closed,
            Err(io) => Self::Io(io),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::OtherError;

    use super::*;

    #[test]
    fn an_authoritys_certificate_is_named_in_words() {
        #[derive(Debug, thiserror::Error)]
        #[error("{self:?}")]
        struct CaUsedAsEndEntity;
        let cause = CertificateError::Other(OtherError(Arc::new(CaUsedAsEndEntity)));
        let error = TlsError::Protocol(cause.into());
        assert!(error.is_certificate_refusal());
        let told = "invalid peer certificate: it is an authority's (CA:TRUE), not a server's";
        assert_eq!(error.to_string(), told);
    }
}
