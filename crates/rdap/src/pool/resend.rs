//! When a request is sent again. A GET may be repeated (RFC 9110 §9.2.2), but not for ever: once where its connection
//! ended, and as often as is bearable where the server has said that it did nothing.

use roundtrip_http::HttpError;

use super::carry::{Failed, What};
use super::lane::Lane;
use super::{Fault, Timing};

/// A server that turns a request away so often does not want it.
const MOST_TURNED_AWAY: u32 = 8;

/// What became of one request so far.
#[derive(Debug, Default)]
pub(super) struct Tries {
    /// Because the connection ended.
    resent: u32,
    turned_away: u32,
    /// Because nobody answered QUIC, or early data was answered with an end.
    voided: u32,
    too_early: bool,
    /// What each waited for.
    lost: Vec<Timing>,
}

/// What to do after a failure.
pub(super) enum Verdict {
    Again(Why),
    Give(Fault),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    TurnedAway,
    Ended,
}

impl Tries {
    pub(super) fn count(&self) -> u32 {
        self.resent + self.turned_away + self.voided + u32::from(self.too_early)
    }

    pub(super) fn judge(&mut self, failed: Failed, lane: &Lane) -> Verdict {
        self.lost.push(failed.lost);
        let error = match failed.what {
            What::Final(fault) => return Verdict::Give(fault),
            What::Http(error) => error,
        };
        if error.is_unprocessed() {
            self.turned_away += 1;
            if self.turned_away > MOST_TURNED_AWAY {
                let tries = self.turned_away;
                return Verdict::Give(Fault::TurnedAway {
                    tries,
                    source: error,
                });
            }
            return Verdict::Again(Why::TurnedAway);
        }
        if !ended_early(&error) {
            return Verdict::Give(Fault::Http(error));
        }
        // Neither a handshake that nobody answered nor early data that ended one says anything about the request.
        let void = lane.is_void() || (lane.early_data && !failed.seasoned);
        if void && !failed.heard && self.voided == 0 {
            self.voided += 1;
            return Verdict::Again(Why::Ended);
        }
        let worth_it = failed.heard || failed.seasoned;
        if worth_it && self.resent == 0 {
            self.resent += 1;
            return Verdict::Again(Why::Ended);
        }
        let got = failed.got;
        Verdict::Give(if failed.heard {
            Fault::CutShort { got, source: error }
        } else {
            Fault::Http(error)
        })
    }

    /// The answer was 425 to early data: once more, after the handshake. RFC 8470 §5.2.
    pub(super) fn too_early(&mut self, timing: &Timing) -> bool {
        let first = !std::mem::replace(&mut self.too_early, true);
        if first {
            self.lost.push(timing.clone());
        }
        first
    }

    /// Puts what earlier tries cost to what the last one did.
    pub(super) fn sum_up(&self, timing: &mut Timing) {
        timing.resent = self.count();
        self.lost.iter().for_each(|lost| timing.add(lost));
    }

    /// Early data did not go well.
    pub(super) fn is_careful(&self) -> bool {
        self.too_early || self.voided > 0
    }
}

/// Did the connection or the stream end before the answer did?
fn ended_early(error: &HttpError) -> bool {
    let stream = match error {
        HttpError::H2(error) => error.is_reset(),
        HttpError::H3(_)
        | HttpError::ClosedInHead
        | HttpError::BodyCutShort { .. }
        | HttpError::ChunksCutShort { .. } => true,
        _ => false,
    };
    stream || error.is_connection_gone()
}
