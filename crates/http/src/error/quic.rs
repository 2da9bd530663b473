//! Why a QUIC connection ended, with the distinctions that a user would act on.

use std::io::ErrorKind;

use roundtrip_quic::CloseReason;
use rustls::CertificateError;

#[derive(Debug, thiserror::Error)]
pub enum QuicError {
    #[error("the certificate was refused: {0}")]
    Certificate(CertificateError),
    /// A TLS alert inside a CRYPTO_ERROR. RFC 9001 §4.8.
    #[error("TLS alert {0}")]
    Alert(u8),
    #[error("the server did not answer")]
    TimedOut,
    /// ICMP reported that the server is unreachable before anything had arrived from it, or there
    /// is no route.
    #[error("{0}")]
    Unreachable(ErrorKind),
    #[error("stateless reset")]
    Reset,
    #[error("{0}")]
    Other(CloseReason),
}

impl QuicError {
    /// `verdict` is what the certificate verifier said, if it was asked.
    pub(crate) fn new(reason: CloseReason, verdict: Option<CertificateError>) -> Self {
        if let Some(reason) = verdict {
            return Self::Certificate(reason);
        }
        match reason {
            CloseReason::TimedOut => Self::TimedOut,
            CloseReason::Reset => Self::Reset,
            CloseReason::Unreachable(why) => Self::Unreachable(why),
            // CRYPTO_ERROR is 0x0100 to 0x01ff. RFC 9000 §20.1.
            CloseReason::Transport { code, .. }
                if let Ok(alert) = u8::try_from(code.0.wrapping_sub(0x100)) =>
            {
                Self::Alert(alert)
            }
            other => Self::Other(other),
        }
    }
}
