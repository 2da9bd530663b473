//! The open connections, and which of them wait for a request: if there are too many, the one that
//! has waited longest is closed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::Notify;

/// Counts connections. Clones of an `Rc` share the counts.
#[derive(Debug)]
pub(crate) struct Connections {
    limit: usize,
    open: Cell<usize>,
    /// The connections that wait for a request; the one that has waited longest is first.
    waiting: RefCell<BTreeMap<u64, Rc<Notify>>>,
    next: Cell<u64>,
}

/// An open connection.
pub(crate) struct OpenConnection {
    all: Rc<Connections>,
}

/// A connection that waits for a request.
pub(crate) struct Waiting<'a> {
    all: &'a Connections,
    number: u64,
    ended: Rc<Notify>,
}

impl Connections {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            open: Cell::new(0),
            waiting: RefCell::default(),
            next: Cell::new(0),
        }
    }

    /// Whether another connection may be accepted.
    pub(crate) fn has_room(&self) -> bool {
        self.open.get() < self.limit
    }

    pub(crate) fn open(self: &Rc<Self>) -> OpenConnection {
        self.open.set(self.open.get() + 1);
        self.make_room();
        OpenConnection { all: self.clone() }
    }

    /// If the limit is reached, ends the connection that has waited longest, so that the next one
    /// is accepted.
    fn make_room(&self) {
        if !self.has_room()
            && let Some((_, longest)) = self.waiting.borrow_mut().pop_first()
        {
            longest.notify_one();
        }
    }
}

impl OpenConnection {
    /// Waits until the connection has to end, from the moment when it began to wait for a request.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        let all = &*self.all;
        let number = all.next.get();
        all.next.set(number + 1);
        let ended = Rc::new(Notify::new());
        all.waiting.borrow_mut().insert(number, ended.clone());
        all.make_room();
        Waiting { all, number, ended }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.all.open.set(self.all.open.get() - 1);
    }
}

impl Waiting<'_> {
    pub(crate) async fn ended(&self) {
        self.ended.notified().await;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.all.waiting.borrow_mut().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn has_ended(waiting: &Waiting<'_>) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        pin!(waiting.ended()).poll(&mut context).is_ready()
    }

    #[test]
    fn the_connection_that_has_waited_longest_makes_room() {
        let all = Rc::new(Connections::new(3));
        let (first, second) = (all.open(), all.open());
        let (long, short) = (first.wait(), second.wait());
        assert!(all.has_room() && !has_ended(&long));
        let third = all.open();
        assert!(!all.has_room() && has_ended(&long) && !has_ended(&short));
        drop(long);
        drop(first);
        assert!(all.has_room());
        drop(short);
        drop((second, third));
        assert_eq!((all.open.get(), all.waiting.borrow().len()), (0, 0));
    }

    /// No connection was waiting when the limit was reached.
    #[test]
    fn a_connection_that_begins_to_wait_makes_room_for_others() {
        let all = Rc::new(Connections::new(2));
        let (first, _second) = (all.open(), all.open());
        assert!(!all.has_room());
        assert!(has_ended(&first.wait()));
    }
}
