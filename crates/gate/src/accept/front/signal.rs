//! An event that happens once and that many futures of one thread wait for: the end of a handshake,
//! the end of a connection.

use std::cell::Cell;

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(super) struct Signal {
    given: Cell<bool>,
    told: Notify,
}

impl Signal {
    pub(super) fn is_given(&self) -> bool {
        self.given.get()
    }

    pub(super) fn give(&self) {
        self.given.set(true);
        self.told.notify_waiters();
    }

    pub(super) async fn wait(&self) {
        while !self.is_given() {
            self.told.notified().await;
        }
    }
}
