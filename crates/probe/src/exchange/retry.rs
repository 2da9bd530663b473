//! When a request may be asked a second time after its connection ended, and what the first time cost.

use std::time::Duration;

use roundtrip_http::HttpError;
use roundtrip_model::{Event, HttpFacts, Moment, Timeline};

/// Says whether a kept connection ended, or turned the request away, before it gave any answer. To
/// be `careful` is to repeat what may have been acted upon only where that does no harm.
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

/// The same for one of several requests on a connection: one that failed for itself is not asked again.
pub(super) fn went_with_connection(error: &HttpError, facts: &HttpFacts) -> bool {
    let unanswered = facts.status == 0 && facts.interim.is_empty();
    let ended = error.is_connection_gone() && is_idempotent(&facts.method);
    unanswered && (error.is_unprocessed() || ended)
}

/// RFC 9110 §9.2.2.
fn is_idempotent(method: &str) -> bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&method)
}

/// The round trip of a request that was answered with the connection's end. What ended sooner than half of one had
/// crossed the request on its way.
pub(super) fn lost_trip(timeline: &Timeline, ended: Moment, rtt: Option<Duration>) -> u32 {
    let sent = timeline.last(|e| *e == Event::RequestSent);
    match (sent, rtt) {
        (Some(sent), Some(rtt)) => u32::from(ended.since(sent) >= rtt / 2),
        _ => 0,
    }
}
