//! One question to the store, and all who wait for its answer.

use std::cell::{Cell, RefCell};

use tokio::sync::Notify;

use super::Found;
use crate::StoreError;

pub(super) type Outcome = Result<Option<Found>, StoreError>;

#[derive(Default)]
pub(super) struct Flight {
    state: RefCell<State>,
    landed: Notify,
    /// Something changed since the question was asked: the answer may be from before it.
    overtaken: Cell<bool>,
}

#[derive(Default)]
enum State {
    #[default]
    Asking,
    Landed(Outcome),
    /// Whoever asked has left without an answer.
    Abandoned,
}

impl Flight {
    /// `None` where somebody else must ask.
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

    /// Whether it was, until now.
    pub(super) fn take_overtaken(&self) -> bool {
        self.overtaken.replace(false)
    }
}
