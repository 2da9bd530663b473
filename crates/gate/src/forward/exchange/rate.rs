//! The rate at which a client sends a body, or reads an answer, over the last ten seconds in which
//! gate waited for it.
//!
//! For bodies, the required rate doubles every ten seconds, up to a maximum: a client that holds a
//! connection for a long time must have much to send. If the mean since the beginning counted, a
//! client that began fast could hold it almost forever.

use std::time::Duration;

use crate::config::Limits;

/// The window over which the rate is measured, and after which it must be twice as high.
pub(super) const RATE_WINDOW: Duration = Duration::from_secs(10);
/// The granularity of the window.
pub(super) const SLOT: Duration = Duration::from_secs(1);
const SLOTS: usize = 10;

/// The bytes that must arrive in one window at this rate.
pub(super) fn window(rate: u64) -> u64 {
    rate.saturating_mul(RATE_WINDOW.as_secs())
}

#[derive(Debug)]
pub(super) struct BodyRate {
    /// Bytes in each of the last seconds; the last entry is the present second.
    came: [u64; SLOTS],
    /// The number of whole seconds that have passed, and the elapsed part of the current one.
    seconds: u64,
    rest: Duration,
    /// The minimum in bytes a second, at first and in the end.
    first: u64,
    most: u64,
    /// The seconds after which the rate is judged for the first time.
    grace: u64,
    slow: bool,
}

/// The client is too slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooSlow;

impl BodyRate {
    pub(super) fn new(limits: &Limits) -> Self {
        let first = limits.body_rate.0;
        Self {
            came: [0; SLOTS],
            seconds: 0,
            rest: Duration::ZERO,
            first,
            most: limits.body_rate_most.0.max(first),
            grace: SLOTS as u64,
            slow: false,
        }
    }

    /// A minimum that does not rise, judged after two seconds.
    pub(super) fn constant(rate: u64) -> Self {
        Self {
            came: [0; SLOTS],
            seconds: 0,
            rest: Duration::ZERO,
            first: rate,
            most: rate,
            grace: 2,
            slow: false,
        }
    }

    /// Whether there is a minimum at all.
    pub(super) fn is_required(&self) -> bool {
        self.first > 0
    }

    /// Counts the bytes that arrived while gate waited; there may be none.
    pub(super) fn came(&mut self, waited: Duration, bytes: u64) -> Result<(), TooSlow> {
        // Bytes from before a wait of a whole window do not count.
        self.rest = self.rest.saturating_add(waited).min(RATE_WINDOW + SLOT);
        while self.rest >= SLOT {
            self.rest -= SLOT;
            self.seconds += 1;
            self.slow = self.seconds >= self.grace && self.came.iter().sum::<u64>() < self.least();
            self.came.rotate_left(1);
            let [.., now] = &mut self.came;
            *now = 0;
        }
        let [.., now] = &mut self.came;
        *now += bytes;
        if self.slow { Err(TooSlow) } else { Ok(()) }
    }

    /// The bytes that must have arrived in the window that ends now.
    fn least(&self) -> u64 {
        let first = self.seconds.saturating_sub(SLOTS as u64);
        let required = (first..self.seconds).map(|second| self.required(second));
        required.fold(0, u64::saturating_add)
    }

    /// The rate that is required in this second.
    fn required(&self, second: u64) -> u64 {
        let doublings = u32::try_from(second / SLOTS as u64).unwrap_or(u32::MAX);
        let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        self.first.saturating_mul(factor).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Bytes;

    fn rate() -> BodyRate {
        BodyRate::new(&Limits {
            body_rate: Bytes(512),
            body_rate_most: Bytes(4096),
            ..Limits::default()
        })
    }

    /// After how many seconds a client is too slow if it sends `at(n)` bytes in second `n`.
    fn ends(at: impl Fn(u64) -> u64) -> Option<u64> {
        let mut rate = rate();
        for tenth in 0..6000 {
            let bytes = at(tenth / 10) / 10;
            if rate.came(SLOT / 10, bytes).is_err() {
                return Some(tenth / 10);
            }
        }
        None
    }

    #[test]
    fn the_required_rate_doubles_every_ten_seconds() {
        assert_eq!(ends(|_| 0), Some(9));
        assert_eq!(ends(|_| 500), Some(9));
        for (rate, between) in [(520, 10..=11), (1000, 18..=20), (2000, 28..=30)] {
            let end = ends(|_| rate).unwrap();
            assert!(between.contains(&end), "{rate}: {end}");
        }
        assert_eq!(ends(|_| 4100), None);
    }

    /// Bytes that arrived long ago do not count.
    #[test]
    fn a_client_that_was_fast_does_not_hold_what_it_has_for_long() {
        for fast in [0, 1, 5, 10, 11, 19, 25, 100] {
            let end = ends(|second| match second {
                second if second < fast => 4100,
                second if second == fast => 1_000_000,
                _ => 800,
            });
            let end = end.unwrap();
            assert!(
                end <= fast + 16 && (fast < 10 || end <= fast + 11),
                "{fast}: {end}"
            );
        }
    }

    #[test]
    fn a_silence_counts_as_it_lasts() {
        let mut rate = rate();
        assert_eq!(rate.came(Duration::ZERO, 1_000_000), Ok(()));
        assert_eq!(rate.came(SLOT * 9, 10), Ok(()));
        assert_eq!(rate.came(SLOT * 9, 10), Err(TooSlow));
        let mut rate = self::rate();
        assert_eq!(rate.came(Duration::MAX, 1_000_000), Err(TooSlow));
    }

    #[test]
    fn a_constant_rate_is_judged_soon_and_may_recover() {
        let mut rate = BodyRate::constant(1000);
        assert_eq!(rate.came(SLOT, 0), Ok(()));
        assert_eq!(rate.came(SLOT, 100), Err(TooSlow));
        assert_eq!(
            rate.came(Duration::ZERO, 5000),
            Err(TooSlow),
            "until the second is over"
        );
        assert_eq!(rate.came(SLOT, 0), Ok(()));
        assert_eq!(rate.came(SLOT * 4, 0), Err(TooSlow));
    }
}
