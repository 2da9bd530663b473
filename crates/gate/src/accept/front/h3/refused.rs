//! Requests that were refused before the `h3` crate saw their heads: malformed, or too large.

use roundtrip_quic_tokio::{Connection, RequestError};

use crate::accept::front::streams::ConnectionState;
use crate::judge::request::BadRequestError;

/// Counts the request, and tells the client which limit it exceeded. The engine itself ends
/// malformed requests. RFC 9114 §4.1.2.
pub(super) fn refuse<S>(
    state: &ConnectionState<S>,
    link: &Connection,
    stream: u64,
    error: RequestError,
) {
    let refusal = BadRequestError::from(error);
    let mut entry = state.entry();
    if error.can_be_answered() {
        entry.turn_away(refusal.status(), refusal);
        link.respond(stream, refusal.status());
    }
    state.close(&mut entry, Some(&refusal.into()));
}

impl From<RequestError> for BadRequestError {
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
