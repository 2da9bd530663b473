//! Requests that were refused before the engine saw their heads: malformed, or larger than may be.

use roundtrip_quic_tokio::{Connection, RequestError};

use crate::accept::front::streams::Hall;
use crate::judge::request::Refusal;

/// Counts it, and tells a client which limit it met. A malformed request the engine ends by itself. RFC 9114 §4.1.2.
pub(super) fn refuse<S>(hall: &Hall<S>, link: &Connection, stream: u64, error: RequestError) {
    let refusal = Refusal::from(error);
    let mut entry = hall.entry();
    if error.can_be_answered() {
        entry.turn_away(refusal.status(), refusal);
        link.respond(stream, refusal.status());
    }
    hall.close(&mut entry, Some(&refusal.into()));
}

impl From<RequestError> for Refusal {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::TooManyFields => Self::TooManyFields,
            RequestError::TooLarge => Self::HeadTooLarge,
            RequestError::Malformed(_)
            | RequestError::Encoding
            | RequestError::FrameBehindTrailers => Self::Malformed,
        }
    }
}
