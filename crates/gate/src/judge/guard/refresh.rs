//! Requests a new copy of a JWK Set because a token names a key (`kid`) that the set lacks. It does
//! so once for all threads and tokens, and not before a minimum time since the last read, because
//! anybody can write any name into a token.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// A handle to one set; clones refer to the same set.
#[derive(Debug, Clone, Default)]
pub struct Refresh(Arc<RefreshShared>);

#[derive(Debug, Default)]
struct RefreshShared {
    wanted: Notify,
    state: Mutex<RefreshState>,
}

#[derive(Debug, Default)]
struct RefreshState {
    /// Whether the set is being read, or about to be.
    asked: bool,
    /// The earliest time of the next read; `None` before the first one.
    not_before: Option<Instant>,
}

impl Refresh {
    /// Requests a read; returns whether there will be one, so that trying again may help.
    pub(crate) fn ask(&self) -> bool {
        let mut state = self.state();
        let may = state.not_before.is_some_and(|then| Instant::now() >= then);
        if !state.asked && may {
            state.asked = true;
            self.0.wanted.notify_one();
        }
        state.asked
    }

    /// Ends when a read has been requested.
    pub(crate) async fn asked(&self) {
        self.0.wanted.notified().await;
    }

    /// Notes that the read has ended, successfully or not; the next may be requested after `pause`.
    pub(crate) fn done(&self, pause: Duration) {
        let mut state = self.state();
        state.asked = false;
        state.not_before = Instant::now().checked_add(pause);
    }

    fn state(&self) -> MutexGuard<'_, RefreshState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ask_once_and_not_too_soon() {
        let refresh = Refresh::default();
        assert!(!refresh.ask(), "the first reading is on its way anyway");
        refresh.done(Duration::ZERO);
        for _ in 0..1000 {
            assert!(refresh.clone().ask());
        }
        refresh.done(Duration::from_hours(1));
        assert!(!refresh.ask());
    }
}
