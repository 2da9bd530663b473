//! Requests in flight. Only the first of several equal requests is sent; the others wait for the
//! same answer.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// The requests in flight, by the key that makes two of them equal.
pub struct Flights<K, T>(Mutex<HashMap<K, watch::Receiver<Option<T>>>>);

/// A request that is removed when it is answered or cancelled.
struct Flight<'a, K: Eq + Hash, T> {
    flights: &'a Flights<K, T>,
    key: K,
    outcome: watch::Sender<Option<T>>,
}

impl<K, T> Default for Flights<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash, T: Clone> Flights<K, T> {
    /// Returns the result of `fetch` and `false`; or, if an equal request is in flight, its result
    /// and `true`. If that request is cancelled, the next caller fetches. Requests after the answer
    /// fetch again.
    pub async fn join<F: Future<Output = T>>(
        &self,
        key: K,
        fetch: impl FnOnce() -> F,
    ) -> (T, bool) {
        let flight = loop {
            let mut told = match self.begin(&key) {
                Ok(flight) => break flight,
                Err(told) => told,
            };
            // An error means that it was cancelled.
            let Ok(outcome) = told.wait_for(Option::is_some).await else {
                continue;
            };
            if let Some(outcome) = outcome.clone() {
                return (outcome, true);
            }
        };
        let outcome = fetch().await;
        flight.outcome.send_replace(Some(outcome.clone()));
        (outcome, false)
    }

    /// Begins a flight as the first for `key`, or returns the channel for another's result.
    fn begin(&self, key: &K) -> Result<Flight<'_, K, T>, watch::Receiver<Option<T>>> {
        let mut flights = self.lock();
        if let Some(told) = flights.get(key) {
            return Err(told.clone());
        }
        let (outcome, told) = watch::channel(None);
        flights.insert(key.clone(), told);
        Ok(Flight {
            flights: self,
            key: key.clone(),
            outcome,
        })
    }
}

impl<K, T> Flights<K, T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, watch::Receiver<Option<T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }
}

impl<K: Eq + Hash, T> Drop for Flight<'_, K, T> {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn concurrent_requests_share_one_fetch() {
        let (flights, fetched) = (Flights::default(), Cell::new(0));
        let join = |key: &'static str| {
            flights.join(key, || async {
                tokio::task::yield_now().await;
                fetched.set(fetched.get() + 1);
                fetched.get()
            })
        };
        let (a, b, c, d) = tokio::join!(join("a"), join("a"), join("b"), join("a"));
        assert!(a.0 == b.0 && b.0 == d.0 && c.0 != a.0 && !c.1);
        assert_eq!(
            [a, b, d]
                .iter()
                .filter(|(_, is_anothers)| *is_anothers)
                .count(),
            2
        );
        assert_eq!(fetched.get(), 2);
        assert_eq!(flights.len(), 0);
        assert_eq!(join("a").await, (3, false));
    }

    #[tokio::test]
    async fn after_a_cancelled_request_the_next_one_fetches() {
        let flights = Flights::default();
        let mut first = Box::pin(flights.join("a", std::future::pending::<u8>));
        let mut second = Box::pin(flights.join("a", || std::future::ready(2)));
        std::future::poll_fn(|context| {
            assert!(first.as_mut().poll(context).is_pending());
            assert!(second.as_mut().poll(context).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
        drop(first);
        assert_eq!(second.await, (2, false));
        assert_eq!(flights.len(), 0);
    }
}
