//! What ends a QUIC connection, told apart as far as a person would act on it.

use quinn::ConnectionError;
use rustls::CertificateError;

#[derive(Debug, thiserror::Error)]
pub enum QuicError {
    #[error("the certificate was refused: {0}")]
    Certificate(CertificateError),
    /// A TLS alert inside a CRYPTO_ERROR. RFC 9001 §4.8.
    #[error("TLS alert {0}")]
    Alert(u8),
    #[error("nobody answered")]
    TimedOut,
    #[error("stateless reset")]
    Reset,
    #[error("{0}")]
    Other(ConnectionError),
}

impl QuicError {
    /// `verdict` is what the certificate verifier said, if it was asked.
    pub(super) fn new(error: ConnectionError, verdict: Option<CertificateError>) -> Self {
        if let Some(reason) = verdict {
            return Self::Certificate(reason);
        }
        match error {
            ConnectionError::TimedOut => Self::TimedOut,
            ConnectionError::Reset => Self::Reset,
            ConnectionError::ConnectionClosed(close) => {
                let code = u64::from(close.error_code);
                // CRYPTO_ERROR is 0x0100 to 0x01ff. RFC 9000 §20.1.
                match u8::try_from(code.wrapping_sub(0x100)) {
                    Ok(alert) => Self::Alert(alert),
                    Err(_) => Self::Other(ConnectionError::ConnectionClosed(close)),
                }
            }
            other => Self::Other(other),
        }
    }
}
