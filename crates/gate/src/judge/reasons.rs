//! Converts refusals and denials into `record`'s reasons.

use super::credentials::CredentialsError;
use super::guard::{AuthError, SessionError};
use super::request::{BadRequestError, Version};
use crate::record::{Limit, Protocol, Reason};

impl From<BadRequestError> for Reason {
    fn from(refusal: BadRequestError) -> Self {
        match refusal {
            BadRequestError::NotHttp => Self::NotHttp,
            BadRequestError::BareLineFeed => Self::BareLineFeed,
            BadRequestError::Malformed | BadRequestError::NotForHttp2 => Self::Malformed,
            BadRequestError::TooManyFields => Self::TooManyFields,
            BadRequestError::HeadTooLarge => Self::HeadTooLarge,
            BadRequestError::Host => Self::Host,
            BadRequestError::HostDiffers => Self::HostDiffers,
            BadRequestError::HostNumber => Self::HostNumber,
            BadRequestError::Target => Self::Target,
            BadRequestError::DotSegments => Self::DotSegments,
            BadRequestError::TwoWays => Self::TwoWays,
            BadRequestError::Characters => Self::Characters,
            BadRequestError::Method => Self::Method,
            BadRequestError::TwoLengths => Self::TwoLengths,
            BadRequestError::Length => Self::Length,
            BadRequestError::Coding => Self::Coding,
            BadRequestError::ConnectionField => Self::ConnectionField,
            BadRequestError::Expectation => Self::Expectation,
            BadRequestError::BodyTooLarge => Self::BodyTooLarge,
            BadRequestError::Chunk => Self::Chunk,
            BadRequestError::Protocol => Self::Protocol,
        }
    }
}

impl BadRequestError {
    /// The limit that was reached, if that is the reason.
    pub(crate) fn limit(self) -> Option<Limit> {
        match self {
            Self::HeadTooLarge => Some(Limit::Head),
            Self::TooManyFields => Some(Limit::Fields),
            Self::BodyTooLarge => Some(Limit::Body),
            _ => None,
        }
    }
}

impl From<AuthError> for Reason {
    fn from(denial: AuthError) -> Self {
        match denial {
            AuthError::NoToken => Self::NoToken,
            AuthError::BadToken => Self::BadToken,
            AuthError::NoKeys => Self::NoKeys,
            AuthError::Expired | AuthError::TokensOver => Self::Expired,
            AuthError::TooEarly => Self::TooEarly,
            AuthError::NotForUs => Self::NotForUs,
            AuthError::UnknownSession => Self::UnknownSession,
            AuthError::LoginDown => Self::LoginDown,
            AuthError::Credentials(unusable) => unusable.into(),
            AuthError::Store(SessionError::Down) => Self::StoreDown,
            AuthError::Store(SessionError::Unreadable) => Self::StoreUnreadable,
        }
    }
}

impl From<CredentialsError> for Reason {
    fn from(_: CredentialsError) -> Self {
        Self::Credentials
    }
}

impl From<Version> for Protocol {
    fn from(version: Version) -> Self {
        match version {
            Version::H10 | Version::H11 => Self::H1,
            Version::H2 => Self::H2,
            Version::H3 => Self::H3,
        }
    }
}
