//! How many bytes the connections of one owner may keep together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A connection reports what it keeps again when that has changed by this much.
const STEP: u64 = 16 << 10;

/// A budget of bytes that connections share, each through [`crate::Transport::budget`]. When more
/// than half of it is used, their windows shrink; when all of it is used, servers refuse new
/// connections.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    pub fn new(limit: u64) -> Self {
        let used = AtomicU64::new(0);
        Self { limit, used }
    }

    /// How many bytes the connections keep.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether nothing is left.
    pub fn is_exhausted(&self) -> bool {
        self.used() >= self.limit
    }

    fn is_short(&self) -> bool {
        self.used() > self.limit / 2
    }

    /// Returns the share of a connection that wants `wanted` bytes: all of them while half of the
    /// budget is left, then less and less, but at least `least`.
    pub(crate) fn share(&self, wanted: u64, least: u64) -> u64 {
        let half = (self.limit / 2).max(1);
        let left = self.limit.saturating_sub(self.used()).min(half);
        let share = u128::from(wanted) * u128::from(left) / u128::from(half);
        u64::try_from(share)
            .unwrap_or(wanted)
            .max(least)
            .min(wanted)
    }
}

/// What one connection has reported to its budget.
#[derive(Debug, Default)]
pub(crate) struct BudgetShare {
    budget: Option<Arc<Budget>>,
    counted: u64,
    was_short: bool,
}

impl BudgetShare {
    pub(crate) fn new(budget: Option<Arc<Budget>>) -> Self {
        Self {
            budget,
            ..Self::default()
        }
    }

    /// Whether there is a budget to report to.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        self.budget.is_some()
    }

    /// Reports that the connection now keeps `memory` bytes. Returns the budget if windows have to
    /// follow it.
    pub(crate) fn settle(&mut self, memory: u64) -> Option<Arc<Budget>> {
        let budget = self.budget.as_ref()?;
        if memory.abs_diff(self.counted) >= STEP {
            budget.used.fetch_add(memory, Ordering::Relaxed);
            budget.used.fetch_sub(self.counted, Ordering::Relaxed);
            self.counted = memory;
        }
        let is_short = budget.is_short();
        let follows = is_short || self.was_short;
        self.was_short = is_short;
        follows.then(|| budget.clone())
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.used.fetch_sub(self.counted, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_shrink_from_half_of_the_budget_on() {
        let budget = Arc::new(Budget::new(1 << 20));
        let mut accounts: Vec<_> = (0..4)
            .map(|_| BudgetShare::new(Some(budget.clone())))
            .collect();
        let mut shares = vec![budget.share(1000, 10)];
        for account in &mut accounts {
            account.settle(300 << 10);
            shares.push(budget.share(1000, 10));
        }
        assert_eq!(shares[..2], [1000, 1000]);
        assert!(shares[2] < 1000 && shares[3] < shares[2]);
        assert_eq!((shares[4], budget.is_exhausted()), (10, true));
        accounts.pop();
        assert!(!budget.is_exhausted());
        accounts.clear();
        assert_eq!(budget.used(), 0);
    }
}
