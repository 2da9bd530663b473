//! Does gate want to be asked?

use crate::record::{Gauge, Snapshot};

/// What decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Readiness {
    /// It was told to end.
    pub(crate) draining: bool,
    /// Threads that take connections.
    pub(crate) accepting: u64,
    /// Does the store answer, for one of them at least? `None` where none is needed.
    pub(crate) store: Option<bool>,
    /// Servers that may be asked, and those that are left alone.
    pub(crate) servers: u64,
    pub(crate) servers_down: u64,
}

/// Why it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unready {
    #[error("draining")]
    Draining,
    #[error("no thread takes connections")]
    Deaf,
    #[error("neither the store of sessions nor any backend answers")]
    Alone,
    #[error("no backend answers")]
    NoBackend,
}

impl Readiness {
    /// As the threads' gauges have it.
    pub(crate) fn of(snapshot: &Snapshot, draining: bool, guarded: bool) -> Self {
        let accepting = snapshot.gauge(Gauge::Accepting);
        Self {
            draining,
            accepting,
            store: guarded.then(|| snapshot.gauge(Gauge::StoreDown) < accepting.max(1)),
            servers: snapshot.gauge(Gauge::Servers),
            servers_down: snapshot.gauge(Gauge::ServersDown),
        }
    }

    /// A store that is down alone is no reason: known sessions go on, and all replicas would turn away together. Neither are
    /// backends alone, as long as the store knows who may be told that they are down.
    pub(crate) fn verdict(&self) -> Result<(), Unready> {
        let backends = self.servers == 0 || self.servers_down < self.servers;
        match (self.draining, self.accepting, self.store, backends) {
            (true, ..) => Err(Unready::Draining),
            (_, 0, ..) => Err(Unready::Deaf),
            (_, _, Some(false), false) => Err(Unready::Alone),
            (_, _, None, false) => Err(Unready::NoBackend),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Book;

    const FINE: Readiness = Readiness {
        draining: false,
        accepting: 2,
        store: Some(true),
        servers: 4,
        servers_down: 0,
    };

    #[test]
    fn each_reason_by_itself() {
        let with = |change: fn(&mut Readiness)| {
            let mut readiness = FINE;
            change(&mut readiness);
            readiness.verdict()
        };
        assert_eq!(FINE.verdict(), Ok(()));
        assert_eq!(with(|r| r.draining = true), Err(Unready::Draining));
        assert_eq!(with(|r| r.accepting = 0), Err(Unready::Deaf));
        assert_eq!(with(|r| r.store = Some(false)), Ok(()));
        assert_eq!(with(|r| r.servers_down = 4), Ok(()));
        let alone = with(|r| (r.store, r.servers_down) = (Some(false), 4));
        assert_eq!(alone, Err(Unready::Alone));
        let bare = with(|r| (r.store, r.servers_down) = (None, 4));
        assert_eq!(bare, Err(Unready::NoBackend));
    }

    #[test]
    fn gauges_say_it() {
        let book = Book::new(2);
        let of = |guarded| Readiness::of(&book.snapshot(), false, guarded);
        assert_eq!(of(false).verdict(), Err(Unready::Deaf));
        for thread in 0..2 {
            book.ledger(thread).raise(Gauge::Accepting);
            book.ledger(thread).set(Gauge::Servers, 1);
            book.ledger(thread).set(Gauge::ServersDown, 1);
        }
        book.ledger(0).raise(Gauge::StoreDown);
        assert_eq!(of(true).store, Some(true), "one thread still reaches it");
        book.ledger(1).raise(Gauge::StoreDown);
        assert_eq!(of(true).verdict(), Err(Unready::Alone));
    }
}
