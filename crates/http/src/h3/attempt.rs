//! A QUIC connection that is being opened. When nobody waits for it any more it is closed at once, and what it still
//! hears is nobody's business: it would be counted with what came after it.

use std::sync::Arc;

use super::NO_ERROR;
use super::watch::Watched;
use crate::dock::Dock;

pub(super) struct Attempt {
    dock: Dock,
    watched: Arc<Watched>,
    succeeded: bool,
}

impl Attempt {
    pub(super) fn new(dock: Dock, watched: Arc<Watched>) -> Self {
        Self {
            dock,
            watched,
            succeeded: false,
        }
    }

    pub(super) fn succeeded(mut self) {
        self.succeeded = true;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.succeeded {
            self.watched.hush();
            self.dock.close(NO_ERROR, b"");
        }
    }
}
