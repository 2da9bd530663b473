//! The system's clock, and how the kernel's wall-clock stamps become moments of ours.

use std::time::{Duration, Instant};

use roundtrip_model::{Clock, Moment, Reading};

use crate::sys;

/// So close are two readings that nothing came between.
const APART: Duration = Duration::from_micros(2);

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

/// Our clock, and the one that the kernel stamps with (`CLOCK_REALTIME`).
pub(crate) fn read(clock: impl Fn() -> Moment) -> Reading {
    Reading::closest(clock, sys::realtime, APART)
}
