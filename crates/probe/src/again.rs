//! When a request may be asked a second time after its connection ended, and what the first time cost.

use std::time::Duration;

use roundtrip_http::HttpError;
use roundtrip_model::{Event, HttpFacts, Moment, NotKept, Origin, Timeline};

use crate::Prober;

/// What a prober counts beside its exchanges.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) connections: u32,
    /// Why the connection before, to that origin, is not there any more.
    pub(crate) not_kept: Option<(Origin, NotKept)>,
    /// Round trips of requests that were asked again, which their exchanges do not show.
    pub(crate) lost_trips: u32,
    /// When the last answer or failure was here, by the prober's clock.
    pub(crate) over: Moment,
    /// Requests that may have been acted upon are not repeated unless that does no harm.
    pub(crate) careful: bool,
}

impl Prober {
    /// Did a kept connection end, or turn the request away, before it gave any answer?
    pub(crate) fn may_ask_again(&self, outcome: &Result<(), HttpError>, facts: &HttpFacts) -> bool {
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
        let harmless = !self.tally.careful || is_idempotent(&facts.method);
        error.is_unprocessed() || (ended && harmless)
    }
}

/// The same for one of several requests on a connection: one that failed for itself is not asked again.
pub(crate) fn went_with_connection(error: &HttpError, facts: &HttpFacts) -> bool {
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
pub(crate) fn lost_trip(timeline: &Timeline, ended: Moment, rtt: Option<Duration>) -> u32 {
    let sent = timeline.last(|e| *e == Event::RequestSent);
    match (sent, rtt) {
        (Some(sent), Some(rtt)) => u32::from(ended.since(sent) >= rtt / 2),
        _ => 0,
    }
}
