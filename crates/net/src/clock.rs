//! The system's clock, and how the kernel's wall-clock stamps become moments of ours.

use std::time::{Duration, Instant};

use roundtrip_model::{Clock, Moment};

use crate::sys;

/// Monotonic time since it was made.
pub struct SystemClock(Instant);

impl SystemClock {
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        Moment(self.0.elapsed().as_nanos() as u64)
    }
}

/// The moment of a kernel stamp (`CLOCK_REALTIME`), given that it is `now`. Stamps from the future are now.
pub(crate) fn moment_of(stamp: Duration, now: Moment) -> Moment {
    now - sys::realtime().saturating_sub(stamp)
}
