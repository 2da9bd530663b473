//! Places on a connection, first come, first served. Their number is the peer's to change.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::MOST;
use crate::h2::Session;

pub(super) struct Gate {
    places: Semaphore,
    count: Mutex<Count>,
}

struct Count {
    allowed: usize,
    /// Places that were taken away while somebody had them.
    owed: usize,
}

/// A place; free again when this is dropped.
pub(super) struct Place<'a> {
    gate: &'a Gate,
    permit: Option<SemaphorePermit<'a>>,
}

impl Gate {
    pub(super) fn new(allowed: usize) -> Self {
        Self {
            places: Semaphore::new(allowed),
            count: Mutex::new(Count { allowed, owed: 0 }),
        }
    }

    pub(super) fn allowed(&self) -> usize {
        self.count().allowed
    }

    pub(super) fn free(&self) -> usize {
        self.places.available_permits()
    }

    /// Waits for a place on an HTTP/2 connection; who waits hears when the server allows more.
    pub(super) async fn enter(&self, session: &Session) -> Place<'_> {
        self.review(session);
        let mut settled = session.settled();
        let mut place = pin!(self.wait());
        if !*settled.borrow_and_update() {
            tokio::select! {
                biased;
                place = &mut place => return place,
                // The `h2` crate reads what its stream has just shown before it lets anybody else run.
                _ = settled.changed() => self.review(session),
            }
        }
        place.await
    }

    /// Asks how many the peer allows by now.
    pub(super) fn review(&self, session: &Session) {
        session.allowed().into_iter().for_each(|n| self.allow(n));
    }

    pub(super) async fn wait(&self) -> Place<'_> {
        // Nobody closes the semaphore.
        let permit = self.places.acquire().await.ok();
        Place { gate: self, permit }
    }

    fn allow(&self, n: usize) {
        // A server that allows none at the moment will allow one.
        let n = n.clamp(1, MOST);
        let mut count = self.count();
        if n > count.allowed {
            let more = n - count.allowed;
            let forgiven = more.min(count.owed);
            count.owed -= forgiven;
            self.places.add_permits(more - forgiven);
        } else {
            let fewer = count.allowed - n;
            count.owed += fewer - self.places.forget_permits(fewer);
        }
        count.allowed = n;
    }

    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut count = self.gate.count();
        if count.owed > 0
            && let Some(permit) = self.permit.take()
        {
            count.owed -= 1;
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn places_come_and_go_as_the_peer_says() {
        let gate = Gate::new(3);
        let held = [gate.wait().await, gate.wait().await];
        gate.allow(1);
        assert_eq!((gate.allowed(), gate.free()), (1, 0));
        let [first, second] = held;
        drop(first);
        assert_eq!(gate.free(), 0);
        drop(second);
        assert_eq!(gate.free(), 1);
        gate.allow(5);
        assert_eq!(gate.free(), 5);
    }

    #[tokio::test]
    async fn what_is_owed_is_forgiven_when_more_is_allowed() {
        let gate = Gate::new(2);
        let held = [gate.wait().await, gate.wait().await];
        gate.allow(1);
        gate.allow(2);
        assert_eq!(gate.free(), 0);
        drop(held);
        assert_eq!(gate.free(), 2);
        gate.allow(0);
        assert_eq!((gate.allowed(), gate.free()), (1, 1));
    }
}
