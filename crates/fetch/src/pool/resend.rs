//! Decides when a request is repeated. A GET may be repeated (RFC 9110 §9.2.2), but not without
//! limit: once if its connection ended, and a few times if the server said that it did not process
//! it. A request with another method may change something, so it is repeated only if the server
//! said that it did not process it.

use roundtrip_http::HttpError;

use super::carry::{Failed, FailureCause};
use super::lane::Lane;
use super::{PoolErrorKind, Timing};

/// A server that refuses a request this many times does not accept it.
const MAX_TURNED_AWAY: u32 = 8;

/// The history of one request.
#[derive(Debug, Default)]
pub(super) struct Tries {
    /// The request may change something.
    unsafe_method: bool,
    /// Repeated because the connection ended.
    resent: u32,
    turned_away: u32,
    /// Repeated because QUIC was not answered, or because the connection ended after early data.
    voided: u32,
    too_early: bool,
    /// The timing of each failed try.
    lost: Vec<Timing>,
}

/// What to do after a failure.
pub(super) enum Verdict {
    Again(ResendReason),
    Give(PoolErrorKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResendReason {
    TurnedAway,
    Ended,
}

impl Tries {
    pub(super) fn for_method(method: &str) -> Self {
        Self {
            unsafe_method: !matches!(method, "GET" | "HEAD" | "OPTIONS"),
            ..Self::default()
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.resent + self.turned_away + self.voided + u32::from(self.too_early)
    }

    pub(super) fn judge(&mut self, failed: Failed, lane: &Lane) -> Verdict {
        self.lost.push(failed.lost);
        let error = match failed.what {
            FailureCause::Final(fault) => return Verdict::Give(fault),
            FailureCause::Http(error) => error,
        };
        if error.is_unprocessed() {
            self.turned_away += 1;
            if self.turned_away > MAX_TURNED_AWAY {
                let tries = self.turned_away;
                return Verdict::Give(PoolErrorKind::TurnedAway {
                    tries,
                    source: error,
                });
            }
            return Verdict::Again(ResendReason::TurnedAway);
        }
        if !ended_early(&error) {
            return Verdict::Give(PoolErrorKind::Http(error));
        }
        // A handshake without an answer, or one that early data broke, says nothing about the
        // request.
        let void = lane.is_void() || (lane.early_data && !failed.seasoned);
        let may_repeat = !self.unsafe_method;
        if may_repeat && void && !failed.heard && self.voided == 0 {
            self.voided += 1;
            return Verdict::Again(ResendReason::Ended);
        }
        let worth_it = may_repeat && (failed.heard || failed.seasoned);
        if worth_it && self.resent == 0 {
            self.resent += 1;
            return Verdict::Again(ResendReason::Ended);
        }
        let got = failed.got;
        Verdict::Give(if failed.heard {
            PoolErrorKind::CutShort { got, source: error }
        } else {
            PoolErrorKind::Http(error)
        })
    }

    /// Handles a 425 to early data. Returns whether to repeat the request, once, after the
    /// handshake. RFC 8470 §5.2.
    pub(super) fn too_early(&mut self, timing: &Timing) -> bool {
        let first = !std::mem::replace(&mut self.too_early, true);
        if first {
            self.lost.push(timing.clone());
        }
        first
    }

    /// Adds the costs of earlier tries to the cost of the last one.
    pub(super) fn sum_up(&self, timing: &mut Timing) {
        timing.resent = self.count();
        self.lost.iter().for_each(|lost| timing.add(lost));
    }

    /// Whether early data has failed and is no longer used.
    pub(super) fn is_careful(&self) -> bool {
        self.too_early || self.voided > 0
    }
}

/// Whether the connection or the stream ended before the answer did.
pub(super) fn ended_early(error: &HttpError) -> bool {
    let stream = match error {
        HttpError::H2(error) => error.is_reset(),
        HttpError::H3(_)
        | HttpError::ClosedInHead
        | HttpError::BodyCutShort { .. }
        | HttpError::ChunksCutShort { .. }
        | HttpError::BodyReset { .. } => true,
        _ => false,
    };
    stream || error.is_connection_gone()
}
