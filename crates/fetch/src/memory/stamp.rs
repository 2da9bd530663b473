//! A calendar time as files store it: milliseconds since 1970. Callers read the clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01 in UTC; arithmetic saturates at both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Stamp(pub u64);

impl Stamp {
    pub fn from_time(time: SystemTime) -> Self {
        let age = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(millis(age))
    }

    pub fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    pub fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }

    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(millis(span)))
    }

    /// The time from `earlier` to this; zero if the order is reversed.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
