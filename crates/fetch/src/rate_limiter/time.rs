//! The clock of the rate limiter. Tests set it by hand.

use std::fmt;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use crate::memory::Stamp;

/// Processes share buckets, so the time is calendar time, which is the same for all of them.
pub trait Timer: fmt::Debug + Send + Sync {
    fn now(&self) -> Stamp;
    fn sleep(&self, span: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The system's clock and tokio's timers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemTimer;

impl Timer for SystemTimer {
    fn now(&self) -> Stamp {
        Stamp::from_time(SystemTime::now())
    }

    fn sleep(&self, span: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(span))
    }
}
