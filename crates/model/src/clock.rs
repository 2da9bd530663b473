//! Time as a value. Callers read a real clock and pass its moments down; this crate never reads
//! one.

use std::ops::{Add, Sub};
use std::time::Duration;

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
