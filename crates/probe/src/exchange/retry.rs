//! Whether a request may be repeated after its connection ended, and the cost of the first attempt.

use std::time::Duration;

use roundtrip_http::HttpError;
use roundtrip_model::{Event, HttpFacts, Moment, Timeline};

/// Whether a kept connection ended, or rejected the request, before it gave any answer. With
/// `careful`, a request that the server may have acted upon is repeated only if it is idempotent.
pub(super) fn may_ask_again(
    outcome: &Result<(), HttpError>,
    facts: &HttpFacts,
    careful: bool,
) -> bool {
    let Err(error) = outcome else {
        return false;
    };
    if facts.status != 0 || !facts.interim.is_empty() {
        return false;
    }
    let ended = matches!(
        error,
        HttpError::ClosedUnanswered | HttpError::Io(_) | HttpError::H2(_)
    );
    let harmless = !careful || is_idempotent(&facts.method);
    error.is_unprocessed() || (ended && harmless)
}

/// Whether one of several requests on a connection may be repeated: it must have failed together
/// with the connection, not alone.
pub(super) fn went_with_connection(error: &HttpError, facts: &HttpFacts) -> bool {
    let unanswered = facts.status == 0 && facts.interim.is_empty();
    let ended = error.is_connection_gone() && is_idempotent(&facts.method);
    unanswered && (error.is_unprocessed() || ended)
}

/// RFC 9110 §9.2.2.
fn is_idempotent(method: &str) -> bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&method)
}

/// Returns how many round trips were lost because the server answered a request by closing the
/// connection: one, or none if the close came so soon (within half a round trip) that it was sent
/// before the request arrived.
pub(super) fn lost_trip(timeline: &Timeline, ended: Moment, rtt: Option<Duration>) -> u32 {
    let sent = timeline.last(|e| *e == Event::RequestSent);
    match (sent, rtt) {
        (Some(sent), Some(rtt)) => u32::from(ended.since(sent) >= rtt / 2),
        _ => 0,
    }
}
