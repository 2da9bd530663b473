//! The time of day, by which tokens and sessions expire.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970. A time before counts as 1970.
pub(super) fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
