//! The resolutions in which a history is kept, and for how long.

/// The length of a period, and how long such periods are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tier {
    /// The length of a period, in seconds.
    pub step: u64,
    /// The age, in seconds before the newest period, from which a period is removed.
    pub keeps: u64,
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The finest first: minutes for two days, quarters of an hour for a month, four hours for 16
/// months. Each is at most 2880 periods.
pub const TIERS: [Tier; 3] = [
    Tier {
        step: MINUTE,
        keeps: 2 * DAY,
    },
    Tier {
        step: 15 * MINUTE,
        keeps: 30 * DAY,
    },
    Tier {
        step: 4 * HOUR,
        keeps: 480 * DAY,
    },
];

impl Tier {
    /// Returns the beginning of the period that contains `at`, in seconds since 1970.
    pub fn start(&self, at: u64) -> u64 {
        at - at % self.step
    }
}
