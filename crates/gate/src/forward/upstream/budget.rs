//! Counts the retries that requests have earned. A retry helps if one connection was lost, but
//! harms a server that is down.

use std::time::Duration;

use tokio::time::Instant;

/// The cost of a retry, in hundredths of requests.
const RETRY_COST: u32 = 100;
/// The most that can be saved.
const MAX_SAVED: u32 = 20 * RETRY_COST;
/// Allows retries when there are only a few requests: this many at first, and one more after each
/// interval.
const INITIAL_SAVED: u32 = 3 * RETRY_COST;
const FLOOR_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct RetryBudget {
    for_each: u16,
    saved: u32,
    filled: Instant,
}

impl RetryBudget {
    /// Makes a budget. `for_each` says what each request earns, in hundredths of a retry; 0 means
    /// no retries.
    pub(super) fn new(for_each: u16, now: Instant) -> Self {
        Self {
            for_each,
            saved: INITIAL_SAVED,
            filled: now,
        }
    }

    pub(super) fn earn(&mut self) {
        self.saved = (self.saved + u32::from(self.for_each)).min(MAX_SAVED);
    }

    /// Takes one retry, if there is one.
    pub(super) fn spend(&mut self, now: Instant) -> bool {
        if self.for_each == 0 {
            return false;
        }
        if self.saved < RETRY_COST && now.saturating_duration_since(self.filled) >= FLOOR_INTERVAL {
            self.saved += RETRY_COST;
            self.filled = now;
        }
        let left = self.saved.checked_sub(RETRY_COST);
        self.saved = left.unwrap_or(self.saved);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_a_share_of_requests() {
        let now = Instant::now();
        let mut budget = RetryBudget::new(20, now);
        let spend = |budget: &mut RetryBudget, now| (0..1000).filter(|_| budget.spend(now)).count();
        assert_eq!(spend(&mut budget, now), 3, "the floor");
        for _ in 0..50 {
            budget.earn();
        }
        assert_eq!(spend(&mut budget, now), 10);
        for _ in 0..100_000 {
            budget.earn();
        }
        assert_eq!(spend(&mut budget, now), 20, "no more are saved up");
        assert_eq!(spend(&mut budget, now + FLOOR_INTERVAL), 1);
        assert_eq!(
            spend(&mut RetryBudget::new(0, now), now + FLOOR_INTERVAL),
            0
        );
    }
}
