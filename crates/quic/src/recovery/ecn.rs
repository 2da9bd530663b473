//! Whether ECN marks survive the path, and what routers report with them. RFC 9000 §13.4.2, §A.4.

use crate::space::Space;

/// The number of packets that are marked to find that out.
const TRIAL: u64 = 10;

#[derive(Debug)]
pub(super) struct Ecn {
    state: EcnValidation,
    /// How many packets were marked before this path.
    base: u64,
    /// How many packets of the trial were lost.
    lost: u64,
    /// The peer's counts of ECT(0), ECT(1) and CE, for each space.
    counts: [[u64; 3]; 3],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EcnValidation {
    Off,
    Trial,
    /// The trial's packets are in flight.
    Waiting,
    Capable,
    Failed,
}

/// What an ACK frame says, and what is known about the packets that it newly acknowledges.
pub(super) struct EcnFeedback {
    pub(super) space: Space,
    pub(super) counts: Option<[u64; 3]>,
    /// Marked packets newly acknowledged.
    pub(super) acked: u64,
    /// Marked packets ever sent in this space.
    pub(super) sent: u64,
}

impl Ecn {
    pub(super) fn new(enabled: bool) -> Self {
        Self {
            state: if enabled {
                EcnValidation::Trial
            } else {
                EcnValidation::Off
            },
            base: 0,
            lost: 0,
            counts: [[0; 3]; 3],
        }
    }

    pub(super) fn marks(&self) -> bool {
        matches!(self.state, EcnValidation::Trial | EcnValidation::Capable)
    }

    pub(super) fn is_capable(&self) -> bool {
        self.state == EcnValidation::Capable
    }

    /// Notes that packets left. `marked` packets have been marked so far.
    pub(super) fn on_sent(&mut self, marked: u64) {
        if self.state == EcnValidation::Trial && marked >= self.base + TRIAL {
            self.state = EcnValidation::Waiting;
        }
    }

    /// Handles the loss of marked packets: if all packets of a trial were lost, the marks are the
    /// reason.
    pub(super) fn on_lost(&mut self, marked: u64) {
        self.lost += marked;
        if self.state == EcnValidation::Waiting && self.lost >= TRIAL {
            self.state = EcnValidation::Failed;
        }
    }

    /// Call it only for a frame that acknowledges a larger number than any before. Returns how many
    /// more packets routers have marked.
    pub(super) fn on_report(&mut self, report: &EcnFeedback) -> u64 {
        if matches!(self.state, EcnValidation::Off | EcnValidation::Failed) {
            return 0;
        }
        let Some(counts) = report.counts else {
            if report.acked > 0 {
                self.state = EcnValidation::Failed;
            }
            return 0;
        };
        let before = std::mem::replace(&mut self.counts[report.space.index()], counts);
        let grown = |kind: usize| counts[kind].checked_sub(before[kind]);
        let (Some(plain), Some(other), Some(congested)) = (grown(0), grown(1), grown(2)) else {
            self.state = EcnValidation::Failed;
            return 0;
        };
        let told = counts[0].saturating_add(counts[2]);
        // Every marked packet is reported and no unmarked one, and no router turned ECT(0) into
        // ECT(1).
        if plain.saturating_add(congested) < report.acked || told > report.sent || other > 0 {
            self.state = EcnValidation::Failed;
            return 0;
        }
        if report.acked > 0 {
            self.state = EcnValidation::Capable;
        }
        congested
    }

    /// Starts a new trial, because the old path's treatment of marks says nothing about the new
    /// one. `marked` packets have been marked so far.
    pub(super) fn on_new_path(&mut self, marked: u64) {
        if self.state != EcnValidation::Off {
            self.state = EcnValidation::Trial;
            self.base = marked;
            self.lost = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(counts: Option<[u64; 3]>, acked: u64, sent: u64) -> EcnFeedback {
        EcnFeedback {
            space: Space::Data,
            counts,
            acked,
            sent,
        }
    }

    fn trial() -> Ecn {
        let mut ecn = Ecn::new(true);
        ecn.on_sent(TRIAL);
        ecn
    }

    #[test]
    fn ten_packets_are_marked_until_a_report_confirms_it() {
        let mut ecn = Ecn::new(true);
        assert!(ecn.marks());
        ecn.on_sent(TRIAL - 1);
        assert!(ecn.marks());
        ecn.on_sent(TRIAL);
        assert!(!ecn.marks());
        assert_eq!(ecn.on_report(&report(Some([10, 0, 0]), 10, 10)), 0);
        assert!(ecn.marks() && ecn.is_capable());
        assert_eq!(ecn.on_report(&report(Some([15, 0, 3]), 8, 20)), 3);
        assert_eq!(ecn.on_report(&report(Some([17, 0, 3]), 2, 20)), 0);
        assert!(ecn.is_capable());
    }

    #[test]
    fn reports_that_cannot_be_true_end_it() {
        for (counts, acked) in [
            (None, 1),
            (Some([9, 0, 0]), 10),
            (Some([9, 1, 0]), 9),
            (Some([11, 0, 0]), 10),
            (Some([u64::MAX, 0, u64::MAX]), 10),
        ] {
            let mut ecn = trial();
            assert_eq!(ecn.on_report(&report(counts, acked, 10)), 0);
            assert!(!ecn.marks() && !ecn.is_capable(), "{counts:?}");
        }
        let mut ecn = trial();
        ecn.on_report(&report(Some([4, 0, 1]), 5, 10));
        assert!(ecn.is_capable());
        ecn.on_report(&report(Some([9, 0, 0]), 5, 10));
        assert!(!ecn.is_capable(), "a count shrank");
    }

    #[test]
    fn a_path_that_drops_what_is_marked_is_spared() {
        let mut ecn = trial();
        ecn.on_lost(TRIAL);
        ecn.on_report(&report(Some([0, 0, 0]), 0, 10));
        assert!(!ecn.marks());
        ecn.on_new_path(TRIAL);
        assert!(ecn.marks());
        ecn.on_sent(2 * TRIAL);
        assert!(!ecn.marks());
    }

    #[test]
    fn unasked_nothing_is_marked() {
        let mut ecn = Ecn::new(false);
        assert!(!ecn.marks());
        ecn.on_new_path(0);
        assert_eq!(ecn.on_report(&report(Some([0, 0, 5]), 0, 10)), 0);
        assert!(!ecn.marks());
    }
}
