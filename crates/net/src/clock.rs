//! The system's clock, and the conversion of the kernel's wall-clock timestamps to our moments.

use std::time::{Duration, Instant};

use roundtrip_model::{Clock, Moment};

use crate::sys;

/// Two readings this close had nothing in between.
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

/// A moment and the kernel's timestamp clock (`CLOCK_REALTIME`), read at the same time. A pause
/// between the two readings would order events wrongly.
pub(crate) struct ClockReading {
    pub(crate) now: Moment,
    real: Duration,
}

impl ClockReading {
    pub(crate) fn now(clock: impl Fn() -> Moment) -> Self {
        Self::closest(clock, sys::realtime)
    }

    /// Reads both clocks until the readings are close enough, for a limited number of tries.
    fn closest(clock: impl Fn() -> Moment, realtime: impl Fn() -> Duration) -> Self {
        let once = || {
            let (before, real, now) = (clock(), realtime(), clock());
            (now.since(before), Self { now, real })
        };
        let mut closest = once();
        for _ in 0..4 {
            if closest.0 < MAX_GAP {
                break;
            }
            let again = once();
            if again.0 < closest.0 {
                closest = again;
            }
        }
        closest.1
    }

    /// Converts a kernel timestamp. Timestamps in the future become now.
    pub(crate) fn moment_of(&self, stamp: Duration) -> Moment {
        self.now - self.real.saturating_sub(stamp)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_pause_between_the_readings_moves_no_stamp() {
        // What the clocks show grows by a pause before each reading.
        let pauses = [0, 9_000_000, 0, 0, 40, 40];
        let (place, time) = (Cell::new(0), Cell::new(1_000_000_000));
        let tick = || {
            time.set(time.get() + pauses.get(place.get()).copied().unwrap_or(9_000_000));
            place.set(place.get() + 1);
            time.get()
        };
        let reading = ClockReading::closest(|| Moment(tick()), || Duration::from_nanos(tick()));
        let stamp = Duration::from_millis(900);
        assert_eq!(reading.moment_of(stamp).0.abs_diff(900_000_000), 40);
        assert_eq!(reading.moment_of(Duration::from_secs(5)), reading.now);
    }
}
