//! Why an order failed, and whether that says something about the name or about the CA.

use std::time::Duration;

use roundtrip_store::StoreError;

use crate::error::FetchError;

/// Why an order failed. No message contains a key, and text of the CA is shortened and harmless.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AcmeError {
    #[error("the CA's {what} cannot be asked: {source}")]
    Fetch {
        what: &'static str,
        source: FetchError,
    },
    /// The CA fails, or gives answers that are not ACME.
    #[error("the CA's {what}: {why}")]
    Broken { what: &'static str, why: String },
    /// RFC 8555 §6.7.
    #[error("the CA refuses ({kind}): {detail}")]
    Problem {
        /// The type of the problem without `urn:ietf:params:acme:error:`.
        kind: String,
        detail: String,
        retry_after: Option<Duration>,
    },
    #[error("the CA could not validate the name: {0}")]
    Invalid(String),
    #[error("the order was not complete within {0:?}")]
    TimedOut(Duration),
    #[error("the CA's certificate cannot be used: {0}")]
    Certificate(String),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("the cryptographic library failed")]
    Cryptography,
}

impl AcmeError {
    /// Whether other orders would fail for the same reason, so that they wait as well.
    pub(super) fn concerns_all(&self) -> bool {
        match self {
            Self::Fetch { .. } | Self::Broken { .. } | Self::Store(_) => true,
            Self::Problem { kind, .. } => {
                ["rateLimited", "serverInternal", "unauthorized"].contains(&kind.as_str())
            }
            _ => false,
        }
    }

    /// Whether the CA said nothing about the name, so that it can be asked again soon.
    pub(super) fn is_outage(&self) -> bool {
        match self {
            Self::Fetch { .. } | Self::Broken { .. } | Self::Store(_) => true,
            Self::Problem { kind, .. } => kind == "serverInternal",
            _ => false,
        }
    }

    /// When the CA wants to get the next request.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Problem { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the CA refuses with this problem.
    pub(super) fn is_problem(&self, expected: &str) -> bool {
        matches!(self, Self::Problem { kind, .. } if kind == expected)
    }
}
