//! How a measurement is stopped from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Lets the user stop. The current visit is abandoned, and earlier measurements are kept.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
