//! Equal requests at the same time: one is sent, all are answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::{Ask, PoolError, Reply};

type Outcome = Result<Reply, PoolError>;

#[derive(Clone, Default)]
pub(super) struct Flights(Arc<Mutex<HashMap<Key, watch::Receiver<Option<Outcome>>>>>);

/// What makes two asks the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    url: String,
    headers: Vec<(String, String)>,
    limit: u64,
}

pub(super) enum Role {
    First(Flight),
    Other(watch::Receiver<Option<Outcome>>),
}

/// A request in flight. If it is cancelled, another takes its place.
pub(super) struct Flight {
    key: Key,
    flights: Flights,
    outcome: watch::Sender<Option<Outcome>>,
}

impl Flights {
    pub(super) fn join(&self, ask: &Ask) -> Role {
        let key = Key {
            url: ask.target.url().as_str().to_owned(),
            headers: ask.headers.clone(),
            limit: ask.limit,
        };
        let mut flights = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = flights.get(&key) {
            return Role::Other(outcome.clone());
        }
        let (outcome, told) = watch::channel(None);
        flights.insert(key.clone(), told);
        Role::First(Flight {
            key,
            flights: self.clone(),
            outcome,
        })
    }
}

#[cfg(test)]
impl Flights {
    pub(super) fn len(&self) -> usize {
        self.0.lock().map_or(0, |flights| flights.len())
    }
}

impl Flight {
    pub(super) fn land(self, outcome: &Outcome) {
        self.outcome.send_replace(Some(outcome.clone()));
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut flights = self
            .flights
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        flights.remove(&self.key);
    }
}
