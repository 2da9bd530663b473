//! The slots for concurrent requests on a connection, first come, first served. The peer may change
//! their number.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::MAX_SLOTS;
use crate::h2::H2Session;

pub(super) struct Slots {
    free: Semaphore,
    count: Mutex<Count>,
}

struct Count {
    allowed: usize,
    /// Slots that were taken away while they were in use.
    owed: usize,
}

/// A slot in use. Dropping it frees the slot.
pub(super) struct SlotGuard<'a> {
    slots: &'a Slots,
    permit: Option<SemaphorePermit<'a>>,
}

impl Slots {
    pub(super) fn new(allowed: usize) -> Self {
        Self {
            free: Semaphore::new(allowed),
            count: Mutex::new(Count { allowed, owed: 0 }),
        }
    }

    pub(super) fn allowed(&self) -> usize {
        self.count().allowed
    }

    pub(super) fn free(&self) -> usize {
        self.free.available_permits()
    }

    /// Waits for a slot of an HTTP/2 connection, whose server may allow more in the meantime.
    pub(super) async fn take_of(&self, session: &H2Session) -> SlotGuard<'_> {
        self.refresh(session);
        let mut received = session.settings_received();
        let mut slot = pin!(self.take());
        if !*received.borrow_and_update() {
            tokio::select! {
                biased;
                slot = &mut slot => return slot,
                // The `h2` crate reads the SETTINGS that were just seen before any other task runs.
                _ = received.changed() => self.refresh(session),
            }
        }
        slot.await
    }

    /// Adopts the number that the peer now allows.
    pub(super) fn refresh(&self, session: &H2Session) {
        session.allowed().into_iter().for_each(|n| self.allow(n));
    }

    pub(super) async fn take(&self) -> SlotGuard<'_> {
        // The semaphore is never closed.
        let permit = self.free.acquire().await.ok();
        SlotGuard {
            slots: self,
            permit,
        }
    }

    fn allow(&self, n: usize) {
        // A server that allows none at the moment will allow one.
        let n = n.clamp(1, MAX_SLOTS);
        let mut count = self.count();
        if n > count.allowed {
            let more = n - count.allowed;
            let forgiven = more.min(count.owed);
            count.owed -= forgiven;
            self.free.add_permits(more - forgiven);
        } else {
            let fewer = count.allowed - n;
            count.owed += fewer - self.free.forget_permits(fewer);
        }
        count.allowed = n;
    }

    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SlotGuard<'_> {
    fn drop(&mut self) {
        let mut count = self.slots.count();
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
        let slots = Slots::new(3);
        let held = [slots.take().await, slots.take().await];
        slots.allow(1);
        assert_eq!((slots.allowed(), slots.free()), (1, 0));
        let [first, second] = held;
        drop(first);
        assert_eq!(slots.free(), 0);
        drop(second);
        assert_eq!(slots.free(), 1);
        slots.allow(5);
        assert_eq!(slots.free(), 5);
    }

    #[tokio::test]
    async fn a_higher_limit_cancels_owed_slots() {
        let slots = Slots::new(2);
        let held = [slots.take().await, slots.take().await];
        slots.allow(1);
        slots.allow(2);
        assert_eq!(slots.free(), 0);
        drop(held);
        assert_eq!(slots.free(), 2);
        slots.allow(0);
        assert_eq!((slots.allowed(), slots.free()), (1, 1));
    }
}
