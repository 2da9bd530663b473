//! Errors on the way from a session's name to its credentials. No error contains a secret.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use roundtrip_tls::TlsError;

/// Can be cloned, because every task that waits for an answer receives the same error.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The store could not be asked: clients get 503, and can try again.
    #[error("the session store is down: {what}")]
    Down {
        what: String,
        source: Option<Arc<io::Error>>,
    },
    #[error("the session store did not {what} in time")]
    TimedOut { what: &'static str },
    #[error("the session's key contains a value that is not a string")]
    WrongType,
    #[error("the session store holds an invalid value for the session: {0}")]
    NotUnderstood(&'static str),
    #[error("the session store gave an invalid answer: {0}")]
    Protocol(#[source] roundtrip_wire::Error),
    #[error("the session store refused {command}: {why}")]
    Refused { command: String, why: String },
    #[error(
        "the session is revoked, but no replica of the store has confirmed it, so a failover could \
         bring it back; revoke it again"
    )]
    Unconfirmed,
    #[error("a session's name must have 1 to {} bytes", crate::MAX_SID)]
    Sid,
    #[error("the session file: {0}")]
    File(#[source] Arc<redb::Error>),
    #[error(
        "the session file is damaged ({0}); restore a copy, or move it away, and a new one is made"
    )]
    Damaged(#[source] Arc<redb::Error>),
    #[error("{path}: {why}")]
    Setting { path: PathBuf, why: String },
    #[error("'{address}' is not the address of a Redis server: {why}")]
    Address { address: String, why: &'static str },
    #[error("TLS to the session store: {0}")]
    Tls(#[source] Arc<TlsError>),
}

impl StoreError {
    /// Whether the store could not be asked, so that earlier answers can still be right.
    pub fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::Down { .. } | Self::TimedOut { .. } | Self::Protocol(_) | Self::Tls(_)
        )
    }

    pub(crate) fn down(what: impl Into<String>) -> Self {
        Self::Down {
            what: what.into(),
            source: None,
        }
    }

    pub(crate) fn io(what: impl Into<String>, error: io::Error) -> Self {
        Self::Down {
            what: format!("{}: {error}", what.into()),
            source: Some(Arc::new(error)),
        }
    }

    pub(crate) fn file(error: impl Into<redb::Error>) -> Self {
        match error.into() {
            error @ redb::Error::Corrupted(_) => Self::Damaged(Arc::new(error)),
            error => Self::File(Arc::new(error)),
        }
    }
}
