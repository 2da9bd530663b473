//! A lock that clients get in turn. It is for one thread.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;

use tokio::sync::oneshot;

use super::{FairQueue, Waiter};

#[derive(Debug, Default)]
pub(crate) struct FairLock(Rc<LockState>);

/// Holds the lock. Dropping the guard gives the lock to the next client.
#[derive(Debug)]
pub(crate) struct FairGuard(Rc<LockState>);

#[derive(Debug, Default)]
struct LockState {
    held: Cell<bool>,
    waiting: RefCell<FairQueue<WaitingForLock>>,
}

#[derive(Debug)]
struct WaitingForLock {
    client: Option<IpAddr>,
    grant: oneshot::Sender<FairGuard>,
}

impl Waiter for WaitingForLock {
    fn client(&self) -> Option<IpAddr> {
        self.client
    }

    fn is_gone(&self) -> bool {
        self.grant.is_closed()
    }
}

impl FairLock {
    /// Takes the lock; `None` while another task holds it. Only then may tasks be waiting for it.
    pub(crate) fn try_lock(&self) -> Option<FairGuard> {
        let is_free = !self.0.held.replace(true);
        is_free.then(|| FairGuard(self.0.clone()))
    }

    pub(crate) async fn lock(&self, client: Option<IpAddr>) -> FairGuard {
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            let (grant, granted) = oneshot::channel();
            let waiter = WaitingForLock { client, grant };
            let _ = self.0.waiting.borrow_mut().push(waiter, usize::MAX);
            if let Ok(guard) = granted.await {
                return guard;
            }
        }
    }
}

impl LockState {
    fn next(&self) -> Option<WaitingForLock> {
        let mut waiting = self.waiting.borrow_mut();
        // Forgets those that have gone.
        waiting.at(0)?;
        waiting.pop(0)
    }
}

impl Drop for FairGuard {
    fn drop(&mut self) {
        match self.0.next() {
            // If that task has gone meanwhile, this drops the new guard.
            Some(waiter) => drop(waiter.grant.send(Self(self.0.clone()))),
            None => self.0.held.set(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    #[tokio::test]
    async fn clients_get_it_in_turn_and_those_that_leave_are_skipped() {
        let lock = FairLock::default();
        let order = RefCell::new(Vec::new());
        let first = lock.try_lock().unwrap();
        let take = async |n: u8| {
            let guard = lock.lock(Some([192, 0, 2, n].into())).await;
            order.borrow_mut().push(n);
            drop(guard);
        };
        let mut leaves = Box::pin(take(3));
        poll_fn(|cx| Poll::Ready(leaves.as_mut().poll(cx).is_pending())).await;
        drop(leaves);
        let later = async {
            assert!(lock.try_lock().is_none());
            drop(first);
        };
        tokio::join!(take(1), take(1), take(1), take(2), take(2), later);
        assert_eq!(*order.borrow(), [1, 2, 1, 2, 1]);
        assert!(lock.try_lock().is_some(), "nobody holds it");
    }
}
