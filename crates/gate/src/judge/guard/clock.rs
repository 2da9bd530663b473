//! The time of day, by which tokens and sessions expire.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970: the system's in programs, hand-turned ones in tests.
pub trait Wall {
    fn seconds(&self) -> i64;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemWall;

impl Wall for SystemWall {
    fn seconds(&self) -> i64 {
        seconds(SystemTime::now())
    }
}

/// A time before 1970 counts as 1970.
pub(super) fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
