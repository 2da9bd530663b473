//! The sum over all threads at one moment. A later snapshot's counters are never smaller.

use super::timer::DurationHistogram;
use super::vocabulary::StatusClass;
use super::{
    Avoided, Carried, Counted, Gauge, Known, LabelValue, Outcome, Remedy, Timer, TlsHandshake,
};
use crate::record::ledger::RequestCounter;

#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    pub(super) counters: Vec<u64>,
    pub(super) gauges: Vec<u64>,
    pub(super) timers: [DurationHistogram; Timer::COUNT],
}

impl Snapshot {
    pub(crate) fn get(&self, what: impl Counted) -> u64 {
        self.counters.get(what.slot()).copied().unwrap_or(0)
    }

    pub(crate) fn gauge(&self, gauge: Gauge) -> u64 {
        self.gauges.get(gauge.index()).copied().unwrap_or(0)
    }

    pub(crate) fn timer(&self, timer: Timer) -> &DurationHistogram {
        let [added, authorize, first_byte, backend, whole] = &self.timers;
        match timer {
            Timer::Added => added,
            Timer::Authorize => authorize,
            Timer::FirstByte => first_byte,
            Timer::Backend => backend,
            Timer::Whole => whole,
        }
    }

    /// The sum over all members of a set.
    pub(crate) fn sum<W: LabelValue + Counted>(&self) -> u64 {
        W::ALL.iter().map(|word| self.get(*word)).sum()
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests_that(|_| true)
    }

    pub(crate) fn requests_that(&self, hold: impl Fn(RequestCounter) -> bool) -> u64 {
        RequestCounter::all()
            .filter(|asked| hold(*asked))
            .map(|asked| self.get(asked))
            .sum()
    }

    /// Exchanges by the class of the answer's status, in the vocabulary's order; the last are those
    /// without an answer.
    pub(crate) fn classes(&self) -> [u64; StatusClass::COUNT] {
        let mut classes = [0; StatusClass::COUNT];
        for (class, count) in StatusClass::ALL.iter().zip(&mut classes) {
            *count = self.requests_that(|asked| asked.class == *class);
        }
        classes
    }

    /// Exchanges that failed from the client's view: 5xx, or an answer that never began or was cut
    /// off, unless the client left.
    pub(crate) fn errors(&self) -> u64 {
        self.requests_that(|asked| match asked.outcome {
            Outcome::Whole | Outcome::SessionOver => asked.class == StatusClass::Server,
            Outcome::BackendGone
            | Outcome::PoolFull
            | Outcome::BackendRefused
            | Outcome::TimedOut => true,
            Outcome::ClientGone => false,
        })
    }

    /// Round trips saved, by all remedies.
    pub(crate) fn saved(&self) -> u64 {
        self.sum::<Remedy>()
    }

    /// Handshakes avoided, of all kinds.
    pub(crate) fn avoided(&self) -> u64 {
        self.sum::<Avoided>()
    }

    /// Completed handshakes, and those among them that were resumed, with early data or without.
    pub(crate) fn handshakes(&self) -> (u64, u64) {
        let resumed = self.get(TlsHandshake::Resumed) + self.get(TlsHandshake::Early);
        (self.get(TlsHandshake::Full) + resumed, resumed)
    }

    /// Completed handshakes, and those that brought a request with them.
    pub(crate) fn early_handshakes(&self) -> (u64, u64) {
        (self.handshakes().0, self.get(TlsHandshake::Early))
    }

    /// Requests that went to a backend, and those over a connection that was used before.
    pub(crate) fn carried(&self) -> (u64, u64) {
        (self.sum::<Carried>(), self.get(Carried::Reused))
    }

    /// Requests with a known session, and those for which the store was not asked.
    pub(crate) fn sessions(&self) -> (u64, u64) {
        let near = self.get(Known::Near) + self.get(Known::Grace);
        (self.get(Known::Asked) + near, near)
    }
}
