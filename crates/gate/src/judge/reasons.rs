//! Refusals and denials in the words of the record.

use super::credentials::Unusable;
use super::guard::{Denial, Trouble};
use super::request::{Refusal, Version};
use crate::record::{Limit, Protocol, Reason};

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotHttp => Self::NotHttp,
            Refusal::BareLineFeed => Self::BareLineFeed,
            Refusal::Malformed => Self::Malformed,
            Refusal::TooManyFields => Self::TooManyFields,
            Refusal::HeadTooLarge => Self::HeadTooLarge,
            Refusal::Host => Self::Host,
            Refusal::HostDiffers => Self::HostDiffers,
            Refusal::Target => Self::Target,
            Refusal::DotSegments => Self::DotSegments,
            Refusal::TwoWays => Self::TwoWays,
            Refusal::Characters => Self::Characters,
            Refusal::Method => Self::Method,
            Refusal::TwoLengths => Self::TwoLengths,
            Refusal::Length => Self::Length,
            Refusal::Coding => Self::Coding,
            Refusal::ConnectionField => Self::ConnectionField,
            Refusal::Expectation => Self::Expectation,
            Refusal::BodyTooLarge => Self::BodyTooLarge,
            Refusal::Chunk => Self::Chunk,
            Refusal::Protocol => Self::Protocol,
        }
    }
}

impl Refusal {
    /// Where it is a limit that was met.
    pub(crate) fn limit(self) -> Option<Limit> {
        match self {
            Self::HeadTooLarge => Some(Limit::Head),
            Self::TooManyFields => Some(Limit::Fields),
            Self::BodyTooLarge => Some(Limit::Body),
            _ => None,
        }
    }
}

impl From<Denial> for Reason {
    fn from(denial: Denial) -> Self {
        match denial {
            Denial::NoToken => Self::NoToken,
            Denial::BadToken => Self::BadToken,
            Denial::NoKeys => Self::NoKeys,
            Denial::Expired => Self::Expired,
            Denial::TooEarly => Self::TooEarly,
            Denial::NotForUs => Self::NotForUs,
            Denial::UnknownSession => Self::UnknownSession,
            Denial::Credentials(unusable) => unusable.into(),
            Denial::Store(Trouble::Down) => Self::StoreDown,
            Denial::Store(Trouble::Unreadable) => Self::StoreUnreadable,
        }
    }
}

impl From<Unusable> for Reason {
    fn from(_: Unusable) -> Self {
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
