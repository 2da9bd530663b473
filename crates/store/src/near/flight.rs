//! One request to the store, and all tasks that wait for its answer.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use tokio::sync::Notify;

use super::Found;
use crate::StoreError;

pub(super) type Outcome = Result<Option<Found>, StoreError>;

#[derive(Default)]
pub(super) struct Flight {
    state: RefCell<State>,
    landed: Notify,
    /// Whether something has changed since the request was sent, so that the answer may be older
    /// than the change.
    overtaken: Cell<bool>,
}

#[derive(Default)]
enum State {
    #[default]
    Asking,
    Landed(Outcome),
    /// The task that asked was cancelled without an answer.
    Abandoned,
}

impl Flight {
    /// The outcome of the request; `None` if another task must ask.
    pub(super) async fn outcome(&self) -> Option<Outcome> {
        loop {
            match &*self.state.borrow() {
                State::Asking => {}
                State::Landed(outcome) => return Some(outcome.clone()),
                State::Abandoned => return None,
            }
            self.landed.notified().await;
        }
    }

    pub(super) fn land(&self, outcome: Outcome) {
        *self.state.borrow_mut() = State::Landed(outcome);
        self.landed.notify_waiters();
    }

    pub(super) fn abandon(&self) {
        let mut state = self.state.borrow_mut();
        if matches!(*state, State::Asking) {
            *state = State::Abandoned;
            self.landed.notify_waiters();
        }
    }

    pub(super) fn overtake(&self) {
        self.overtaken.set(true);
    }

    /// Returns whether the request was overtaken by a change, and resets that.
    pub(super) fn take_overtaken(&self) -> bool {
        self.overtaken.replace(false)
    }
}

/// Ends a request when it is dropped: even if it was cancelled, the next caller asks again.
pub(super) struct Landing<'a> {
    pub(super) flights: &'a RefCell<HashMap<Rc<str>, Rc<Flight>>>,
    pub(super) sid: &'a Rc<str>,
    pub(super) flight: &'a Flight,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        self.flights.borrow_mut().remove(self.sid);
        self.flight.abandon();
    }
}
