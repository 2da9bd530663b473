//! Time as a value. Callers read a real clock and pass its moments down; this crate never reads
//! one.

use std::ops::{Add, Sub};
use std::time::{Duration, SystemTime};

use serde::Serialize;

/// A time in nanoseconds since an observation began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Moment(pub u64);

impl Moment {
    pub const ZERO: Self = Self(0);

    pub fn from_millis(ms: f64) -> Self {
        Self((ms * 1e6) as u64)
    }

    pub fn as_millis(self) -> f64 {
        self.0 as f64 / 1e6
    }

    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time from `earlier` to this; zero if the order is reversed.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.as_nanos() as u64))
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.as_nanos() as u64))
    }
}

/// The source of moments: the system's clock in programs, a clock set by hand in tests.
pub trait Clock: Send + Sync {
    fn now(&self) -> Moment;
}

/// A clock that stands still.
impl Clock for Moment {
    fn now(&self) -> Moment {
        *self
    }
}

/// The source of calendar time: `SystemTime::now` in programs, a clock set by hand in tests.
pub trait WallClock {
    fn now(&self) -> SystemTime;
}

impl<F: Fn() -> SystemTime> WallClock for F {
    fn now(&self) -> SystemTime {
        self()
    }
}

/// Two clocks read together: the wall clock's time since 1970, and the moments just before and just
/// after that reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    pub before: Moment,
    pub wall: Duration,
    pub after: Moment,
}

impl ClockReading {
    /// Reads both clocks again, a few times at most, until less than `apart` passed between the
    /// moments. A longer pause between the readings could place an answer before its question.
    pub fn closest(
        moment: impl Fn() -> Moment,
        wall: impl Fn() -> Duration,
        apart: Duration,
    ) -> Self {
        let read = || {
            let (before, wall, after) = (moment(), wall(), moment());
            Self {
                before,
                wall,
                after,
            }
        };
        let mut closest = read();
        for _ in 0..4 {
            if closest.width() < apart {
                break;
            }
            let again = read();
            if again.width() < closest.width() {
                closest = again;
            }
        }
        closest
    }

    /// Converts a time stamp of the wall clock to a moment. A stamp from the future counts as now.
    pub fn moment_of(&self, stamp: Duration) -> Moment {
        self.after - self.wall.saturating_sub(stamp)
    }

    /// The time that passed between the two moments.
    pub fn width(&self) -> Duration {
        self.after.since(self.before)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_pause_between_the_readings_moves_no_stamp() {
        // A pause before each reading advances both clocks.
        let pauses = [0, 9_000_000, 0, 0, 40, 40];
        let (place, time) = (Cell::new(0), Cell::new(1_000_000_000));
        let tick = || {
            time.set(time.get() + pauses.get(place.get()).copied().unwrap_or(9_000_000));
            place.set(place.get() + 1);
            time.get()
        };
        let apart = Duration::from_micros(2);
        let wall = || Duration::from_nanos(tick());
        let reading = ClockReading::closest(|| Moment(tick()), wall, apart);
        let stamp = Duration::from_millis(900);
        assert_eq!(reading.width(), Duration::from_nanos(80));
        assert_eq!(reading.moment_of(stamp).0.abs_diff(900_000_000), 40);
        assert_eq!(reading.moment_of(Duration::from_secs(5)), reading.after);
    }
}
