//! How a measurement is stopped from outside: one of this crate, or an experiment of the lab.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set when the user interrupts. The current measurement is abandoned, and the outcome contains the
/// measurements before it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
