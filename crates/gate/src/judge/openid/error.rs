//! Why a login, a refresh or a logout failed. No message contains a token.

use roundtrip_store::StoreError;

use crate::error::FetchError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum LoginError {
    /// The browser's parameters or a token are not acceptable.
    #[error("{0}")]
    Refused(&'static str),
    /// The provider refused the request, with this error code.
    #[error("the provider answered with the error '{0}'")]
    Denied(String),
    #[error("the provider's {what} cannot be used: {why}")]
    Provider { what: &'static str, why: String },
    /// An error of the provider about one user, which says nothing about others.
    #[error("the provider's {what} cannot be used for this user: {why}")]
    User {
        what: &'static str,
        why: &'static str,
    },
    #[error("the provider's {what}: {source}")]
    Fetch {
        what: &'static str,
        source: Box<FetchError>,
    },
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("the refreshed ID token belongs to another user")]
    OtherUser,
    #[error("the session has ended")]
    Ended,
    #[error("the cryptographic library failed")]
    Cryptography,
}

impl LoginError {
    /// Whether the provider has ended the session. Nothing else ends it: a token that has expired
    /// already, for example, may come from a clock that is wrong.
    pub(crate) fn ends_session(&self) -> bool {
        matches!(self, Self::Denied(_) | Self::OtherUser | Self::Ended)
    }

    /// Whether trying again may help.
    pub(crate) fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::Provider { .. }
                | Self::User { .. }
                | Self::Fetch { .. }
                | Self::Store(_)
                | Self::Cryptography
        )
    }

    /// Whether other sessions would probably fail as well.
    pub(crate) fn concerns_all(&self) -> bool {
        !matches!(self, Self::Refused(_) | Self::User { .. })
    }
}
