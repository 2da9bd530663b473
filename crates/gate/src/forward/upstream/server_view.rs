//! What all threads together know about a server: the number of consecutive failures, and the last
//! one. One failed request says little; several in a row, from any threads, mean that the server is
//! down until something succeeds.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::error::UpstreamError;

/// A server counts as down only after this many failures in a row: readiness must not depend on one
/// request.
const MIN_FAILURES: u32 = 3;

/// The health of one server. A success writes nothing, unless there was a failure before it.
#[derive(Debug, Default)]
pub(super) struct ServerHealth {
    in_a_row: AtomicU32,
    last: Mutex<Option<ServerFailure>>,
}

#[derive(Debug, Clone)]
struct ServerFailure {
    at: Instant,
    /// A connection was established.
    connected: bool,
    why: Arc<str>,
}

/// A server's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerState {
    Up,
    /// The server's health check fails.
    Unhealthy,
    /// Requests failed in a row, and why.
    Failing(Arc<str>),
}

/// One server, as the admin pages show it.
#[derive(Debug, Clone)]
pub(crate) struct ServerView {
    pub(crate) address: Arc<str>,
    pub(crate) state: ServerState,
    /// Exchanges that the server has answered since the start, and those that failed.
    pub(crate) answered: u64,
    pub(crate) failed: u64,
}

impl ServerState {
    /// The state in one word, for programs.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Unhealthy => "unhealthy",
            Self::Failing(_) => "failing",
        }
    }

    pub(crate) fn why(&self) -> Option<&str> {
        match self {
            Self::Up => None,
            Self::Unhealthy => Some("fails its health check"),
            Self::Failing(why) => Some(why),
        }
    }
}

impl ServerHealth {
    pub(super) fn succeeded(&self) {
        if self.in_a_row.load(Relaxed) > 0 {
            self.in_a_row.store(0, Relaxed);
        }
    }

    pub(super) fn unreached(&self, trouble: &UpstreamError) {
        self.failed(false, trouble.in_short().into());
    }

    /// Records that a connection was established, but the server did not answer correctly.
    pub(super) fn broke(&self) {
        self.failed(true, "does not answer as it should".into());
    }

    fn failed(&self, connected: bool, why: Arc<str>) {
        let at = Instant::now();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(ServerFailure { at, connected, why });
        self.in_a_row.fetch_add(1, Relaxed);
    }

    /// Why the server counts as down, if there were `eject_after` (but at least a few) consecutive
    /// failures.
    pub(super) fn failing(&self, eject_after: u32) -> Option<Arc<str>> {
        let gone = self.in_a_row.load(Relaxed) >= eject_after.max(MIN_FAILURES);
        gone.then(|| self.last().map(|last| last.why))?
    }

    /// Whether a successful connection proves that it is up again. A server that accepted
    /// connections and then failed stays ejected for its time.
    pub(super) fn may_be_back(&self, eject_for: Duration) -> bool {
        let over = |last: ServerFailure| !last.connected || last.at.elapsed() >= eject_for;
        self.last().is_none_or(over)
    }

    fn last(&self) -> Option<ServerFailure> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_in_a_row_count_and_one_success_ends_them() {
        let health = ServerHealth::default();
        for round in 0..2 {
            for _ in 0..4 {
                health.broke();
                assert_eq!(health.failing(5), None, "round {round}");
            }
            health.broke();
            assert!(health.failing(5).is_some());
            assert!(!health.may_be_back(Duration::from_hours(1)));
            assert!(health.may_be_back(Duration::ZERO));
            health.succeeded();
            assert_eq!(health.failing(5), None);
        }
    }

    #[test]
    fn not_one_request_decides_whatever_is_set() {
        for eject_after in [0, 1] {
            let health = ServerHealth::default();
            health.broke();
            assert_eq!(health.failing(eject_after), None);
        }
    }
}
