//! Passive ejection: after several failures in a row, a server gets no requests for a while.

use std::time::Duration;

use tokio::time::Instant;

use super::pool::after;

#[derive(Debug, Clone, Copy)]
pub(super) struct EjectionConfig {
    /// Failures in a row; 0: never eject.
    pub(super) after: u32,
    pub(super) time: Duration,
}

#[derive(Debug, Default)]
pub(super) struct OutlierEjection {
    in_a_row: u32,
    ejected: Option<Ejected>,
}

#[derive(Debug, Clone, Copy)]
struct Ejected {
    at: Instant,
    until: Instant,
}

impl OutlierEjection {
    pub(super) fn is_ejected(&self, now: Instant) -> bool {
        self.ejected.is_some_and(|ejected| ejected.until > now)
    }

    pub(super) fn ejected_at(&self) -> Option<Instant> {
        self.ejected.map(|ejected| ejected.at)
    }

    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// Returns whether the server is ejected now. After its time, one more failure ejects it again,
    /// until a request succeeds.
    pub(super) fn failed(&mut self, now: Instant, ejecting: EjectionConfig) -> bool {
        self.in_a_row = self.in_a_row.saturating_add(1);
        if ejecting.after == 0 || self.in_a_row < ejecting.after {
            return false;
        }
        let already = self.is_ejected(now);
        let until = after(now, ejecting.time);
        self.ejected = Some(Ejected { at: now, until });
        !already
    }
}
