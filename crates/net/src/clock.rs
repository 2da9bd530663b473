//! The system's clock, and how the kernel's wall-clock stamps become moments of ours.

use std::time::{Duration, Instant};

use roundtrip_model::{Clock, Moment};

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

/// A moment by the clock that measures, and the time that the kernel stamps with (`CLOCK_REALTIME`), read as one. A pause
/// between the two readings would put what came before what it answers.
pub(crate) struct Reading {
    pub(crate) now: Moment,
    real: Duration,
}

impl Reading {
    pub(crate) fn of(clock: impl Fn() -> Moment) -> Self {
        Self::closest(clock, sys::realtime)
    }

    /// Read until next to nothing came between, for a few times at most.
    fn closest(clock: impl Fn() -> Moment, realtime: impl Fn() -> Duration) -> Self {
        let once = || {
            let (before, real, now) = (clock(), realtime(), clock());
            (now.since(before), Self { now, real })
        };
        let mut closest = once();
        for _ in 0..4 {
            if closest.0 < APART {
                break;
            }
            let again = once();
            if again.0 < closest.0 {
                closest = again;
            }
        }
        closest.1
    }

    /// The moment of a kernel stamp. Stamps from the future are now.
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
        // What the clocks say grows by a pause before each reading.
        let pauses = [0, 9_000_000, 0, 0, 40, 40];
        let (place, time) = (Cell::new(0), Cell::new(1_000_000_000));
        let tick = || {
            time.set(time.get() + pauses.get(place.get()).copied().unwrap_or(9_000_000));
            place.set(place.get() + 1);
            time.get()
        };
        let reading = Reading::closest(|| Moment(tick()), || Duration::from_nanos(tick()));
        let stamp = Duration::from_millis(900);
        assert_eq!(reading.moment_of(stamp).0.abs_diff(900_000_000), 40);
        assert_eq!(reading.moment_of(Duration::from_secs(5)), reading.now);
    }
}
