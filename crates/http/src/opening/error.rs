//! Why no connection was opened.

use roundtrip_net::NetError;
use roundtrip_tls::TlsError;
use rustls::AlertDescription;

use crate::HttpError;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Net(#[from] NetError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("the server chose {got}, not {wanted}")]
    Alpn { wanted: &'static str, got: String },
    #[error("TLS was not set up")]
    NoTls,
}

impl OpenError {
    /// Whether the server supports none of the offered protocols. RFC 7301 §3.2.
    pub fn is_alpn_refusal(&self) -> bool {
        let alert = rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol);
        matches!(self, Self::Tls(TlsError::Protocol(error)) if *error == alert)
    }

    /// Whether the server's certificate did not verify.
    pub fn is_certificate_refusal(&self) -> bool {
        match self {
            Self::Tls(error) => error.is_certificate_refusal(),
            Self::Http(error) => error.is_certificate_refusal(),
            _ => false,
        }
    }
}
