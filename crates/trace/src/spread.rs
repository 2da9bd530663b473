//! How long many exchanges took, in bounded memory: exactly or, if there are many, in steps of half
//! a percent.

use std::collections::BTreeMap;

/// The number of times that are kept exactly.
const EXACTLY: usize = 4096;
/// The ratio of two consecutive steps.
const RATIO: f64 = 1.005;

/// Times in milliseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spread {
    exact: Vec<f64>,
    /// The number of values in each step.
    steps: BTreeMap<i32, usize>,
    in_steps: usize,
}

impl Spread {
    pub(crate) fn push(&mut self, ms: f64) {
        self.exact.push(ms);
        if self.exact.len() >= EXACTLY {
            for ms in self.exact.drain(..) {
                let step = ms.max(1e-6).ln() / RATIO.ln();
                *self.steps.entry(step.round() as i32).or_default() += 1;
                self.in_steps += 1;
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.exact.len() + self.in_steps
    }

    /// The time that this share of all exchanges does not exceed.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let exact = self.exact.iter().map(|ms| (*ms, 1));
        let steps = self.steps.iter();
        let steps = steps.map(|(step, count)| (RATIO.powi(*step), *count));
        let mut all: Vec<(f64, usize)> = exact.chain(steps).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut left = ((share * self.count() as f64).ceil() as usize).max(1);
        for (ms, count) in &all {
            if *count >= left {
                return *ms;
            }
            left -= count;
        }
        all.last().map_or(0.0, |(ms, _)| *ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_times_are_exact_and_many_are_near_in_bounded_memory() {
        let mut spread = Spread::default();
        for n in 1..=100 {
            spread.push(f64::from(n));
        }
        assert_eq!((spread.at(0.5), spread.at(0.99)), (50.0, 99.0));
        for n in 101..=100_000 {
            spread.push(f64::from(n));
        }
        assert_eq!(spread.count(), 100_000);
        for share in [0.1, 0.5, 0.99] {
            let error = spread.at(share) / (100_000.0 * share) - 1.0;
            assert!(error.abs() < 0.005, "{error}");
        }
        assert!(spread.exact.len() < EXACTLY && spread.steps.len() < 3000);
    }
}
