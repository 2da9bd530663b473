//! The system's clock, and the conversion of the kernel's wall-clock timestamps to our moments.

use std::time::{Duration, Instant};

use roundtrip_model::{Clock, ClockReading, Moment};

use crate::sys;

/// The largest distance of two readings of clocks that counts as simultaneous: nothing else
/// happened in between.
const MAX_GAP: Duration = Duration::from_micros(2);

/// Monotonic time since the clock was created.
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

/// Reads our clock together with `CLOCK_REALTIME`, which the kernel uses for timestamps.
pub(crate) fn read(clock: impl Fn() -> Moment) -> ClockReading {
    ClockReading::closest(clock, sys::realtime, MAX_GAP)
}
