//! Whether gate is ready for requests (`/readyz`).

use std::sync::Arc;

use crate::admin::dependencies::{DependencyView, StoreView};
use crate::record::{Gauge, Snapshot};

/// The facts that decide whether gate is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Readiness {
    /// Gate is about to end.
    pub(crate) draining: bool,
    /// Threads that accept connections.
    pub(crate) accepting: u64,
    pub(crate) store: StoreView,
    pub(crate) upstreams: usize,
    /// Upstreams without a server that is up.
    pub(crate) gone: Vec<Arc<str>>,
}

/// Why gate is not ready.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReadinessError {
    #[error("draining")]
    Draining,
    #[error("no thread accepts connections")]
    NotAccepting,
    #[error("no usable server in {0}")]
    NoServer(String),
    #[error("the session store has been down for longer than session.grace")]
    NoStore,
}

impl Readiness {
    pub(crate) fn new(snapshot: &Snapshot, view: &DependencyView, draining: bool) -> Self {
        let upstreams = view.upstreams.iter();
        let gone = upstreams.filter(|upstream| upstream.up() == 0);
        Self {
            draining,
            accepting: snapshot.gauge(Gauge::Accepting),
            store: view.store,
            upstreams: view.upstreams.len(),
            gone: gone.map(|upstream| upstream.name.clone()).collect(),
        }
    }

    /// Gate stays ready if one of several upstreams is down: otherwise the others would be cut off
    /// too. It also stays ready if the store was down only briefly: known sessions still work.
    pub(crate) fn verdict(&self) -> Result<(), ReadinessError> {
        if self.draining {
            return Err(ReadinessError::Draining);
        }
        if self.accepting == 0 {
            return Err(ReadinessError::NotAccepting);
        }
        if self.upstreams > 0 && self.gone.len() == self.upstreams {
            return Err(ReadinessError::NoServer(self.names()));
        }
        if matches!(self.store, StoreView::Down { hopeless: true, .. }) {
            return Err(ReadinessError::NoStore);
        }
        Ok(())
    }

    /// Problems that do not make gate unready, as text for people.
    pub(crate) fn but(&self) -> Vec<String> {
        let gone = (!self.gone.is_empty()).then(|| format!("no usable server in {}", self.names()));
        let store = match self.store {
            StoreView::Down { since, .. } => Some(format!(
                "the session store has been down for {} s",
                since.as_secs()
            )),
            StoreView::NotNeeded | StoreView::Up => None,
        };
        gone.into_iter().chain(store).collect()
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.gone.iter().map(|n| format!("upstream {n}")).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn fine() -> Readiness {
        Readiness {
            draining: false,
            accepting: 2,
            store: StoreView::Up,
            upstreams: 2,
            gone: Vec::new(),
        }
    }

    #[test]
    fn each_reason_by_itself() {
        let with = |change: fn(&mut Readiness)| {
            let mut readiness = fine();
            change(&mut readiness);
            readiness
        };
        let down = |hopeless| StoreView::Down {
            since: Duration::from_secs(7),
            hopeless,
        };
        assert_eq!(fine().verdict(), Ok(()));
        assert!(fine().but().is_empty());
        assert_eq!(
            with(|r| r.draining = true).verdict(),
            Err(ReadinessError::Draining)
        );
        assert_eq!(
            with(|r| r.accepting = 0).verdict(),
            Err(ReadinessError::NotAccepting)
        );
        let mut known = fine();
        known.store = down(false);
        assert_eq!(known.verdict(), Ok(()));
        assert_eq!(known.but(), ["the session store has been down for 7 s"]);
        known.store = down(true);
        assert_eq!(known.verdict(), Err(ReadinessError::NoStore));
    }

    #[test]
    fn one_upstream_of_two_is_told_and_both_are_a_reason() {
        let mut readiness = fine();
        readiness.gone.push("api".into());
        assert_eq!(readiness.verdict(), Ok(()));
        assert_eq!(readiness.but(), ["no usable server in upstream api"]);
        readiness.gone.push("web".into());
        let why = readiness.verdict().unwrap_err().to_string();
        assert_eq!(why, "no usable server in upstream api, upstream web");
    }
}
