//! The time that a remedy saves: the difference between paired measurements, and its confidence.

use serde::Serialize;

use crate::{Random, Summary};

/// The number of bootstrap samples.
const DRAWS: usize = 2000;
/// The share of bootstrap samples between `low` and `high`.
pub const CONFIDENCE: f64 = 0.95;
/// The share of samples below `low`, and above `high`.
const TAIL: f64 = (1.0 - CONFIDENCE) / 2.0;
/// The smallest number of pairs that can show a saving. With fewer, all are on the same side of
/// zero by chance more often than once in twenty: 2 · 2⁻⁵ is 6 %.
pub const MIN_PAIRS: usize = 6;

/// The median of (before − after) over all pairs, with its bootstrap interval (percentiles; Efron,
/// 1979). The interval is widened to the exact one of the sign test if that is wider, because the
/// bootstrap alone promises too much with few pairs: it finds a difference between equals in 6 to 8
/// of a hundred comparisons of 6 to 20 pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Saving {
    pub pairs: usize,
    pub median: f64,
    pub low: f64,
    pub high: f64,
    /// The median as a share of the median before; `None` if that is zero.
    pub share: Option<f64>,
}

impl Saving {
    /// The saving; `None` for fewer than two pairs, which say nothing about their spread. Pairs
    /// with values that are not numbers are left out.
    pub fn from_pairs(pairs: &[(f64, f64)], random: &mut Random) -> Option<Self> {
        let whole = |(before, after): &&(f64, f64)| before.is_finite() && after.is_finite();
        let pairs: Vec<(f64, f64)> = pairs.iter().filter(whole).copied().collect();
        if pairs.len() < 2 {
            return None;
        }
        let differences: Vec<f64> = pairs.iter().map(|(before, after)| before - after).collect();
        let before: Vec<f64> = pairs.iter().map(|(before, _)| *before).collect();
        let median = Summary::from_samples(&differences)?.median;
        let base = Summary::from_samples(&before)?.median;
        let mut drawn: Vec<f64> = (0..DRAWS)
            .filter_map(|_| Summary::from_samples(&redrawn(&differences, random)))
            .map(|summary| summary.median)
            .collect();
        drawn.sort_by(f64::total_cmp);
        let at = |share: f64| drawn.get((share * (drawn.len() - 1) as f64).round() as usize);
        let (low, high) = exact_interval(&differences)?;
        Some(Self {
            pairs: pairs.len(),
            median,
            low: at(TAIL)?.min(low),
            high: at(1.0 - TAIL)?.max(high),
            share: (base != 0.0).then(|| median / base),
        })
    }

    /// Whether the interval excludes zero, so that something is saved or lost. `None` if there are
    /// too few pairs to tell.
    pub fn is_shown(&self) -> Option<bool> {
        (self.pairs >= MIN_PAIRS).then_some(self.low > 0.0 || self.high < 0.0)
    }
}

/// The interval between the k-th smallest and the k-th largest value, with the largest k that
/// `CONFIDENCE` allows: whatever the distribution, the median lies below the first with the
/// probability that fewer than k of n coins show heads (Thompson, 1936). For very few values the
/// interval covers all of them, and is less certain.
fn exact_interval(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    // The probability that fewer than k of n coins show heads, and the logarithm of the probability
    // that exactly k do.
    let (mut fewer, mut as_many) = (0.0, n as f64 * 0.5_f64.ln());
    let mut left_out = 0;
    for heads in 0..n / 2 {
        fewer += as_many.exp();
        if fewer > TAIL {
            break;
        }
        left_out = heads;
        as_many += ((n - heads) as f64 / (heads + 1) as f64).ln();
    }
    Some((*sorted.get(left_out)?, *sorted.get(n - 1 - left_out)?))
}

/// A bootstrap sample: the same number of values, each drawn at random from all of them.
fn redrawn(values: &[f64], random: &mut Random) -> Vec<f64> {
    let draw = |_| values.get(random.below(values.len())).copied();
    (0..values.len()).filter_map(draw).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(pairs: &[(f64, f64)]) -> Option<Saving> {
        Saving::from_pairs(pairs, &mut Random::seeded(1))
    }

    #[test]
    fn one_pair_shows_no_difference() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(2.0, 1.0)]), None);
        assert_eq!(of(&[(2.0, 1.0), (f64::NAN, 1.0)]), None);
    }

    #[test]
    fn noise_around_zero_is_not_a_saving() {
        let pairs: Vec<(f64, f64)> = (0..20)
            .map(|i| (100.0, 100.0 + f64::from(i % 5 - 2)))
            .collect();
        let saving = of(&pairs).unwrap();
        assert_eq!(saving.is_shown(), Some(false), "{saving:?}");
    }

    #[test]
    fn a_difference_is_found_despite_common_drift() {
        // The values of each pair differ by 40, while both vary by hundreds: without pairing,
        // nothing would be seen.
        let pairs: Vec<(f64, f64)> = (0..10)
            .map(|i| f64::from(i) * 300.0 + 100.0)
            .map(|level| (level, level - 40.0))
            .collect();
        let saving = of(&pairs).unwrap();
        assert_eq!((saving.low, saving.median, saving.high), (40.0, 40.0, 40.0));
        assert_eq!(saving.is_shown(), Some(true));
        // Five pairs would do so by chance, one time in sixteen.
        let pairs: Vec<(f64, f64)> = (0..5).map(|i| (f64::from(i) + 9.0, 1.0)).collect();
        assert_eq!(of(&pairs).unwrap().is_shown(), None);
    }

    #[test]
    fn a_loss_is_shown_as_well() {
        let pairs: Vec<(f64, f64)> = (0..6).map(|i| (1.0, 3.0 + f64::from(i))).collect();
        let saving = of(&pairs).unwrap();
        assert_eq!(saving.is_shown(), Some(true));
        assert!(saving.high < 0.0, "{saving:?}");
    }

    #[test]
    fn the_interval_of_the_sign_test() {
        // The number of values left out on either side, from tables of the binomial distribution.
        for (n, out) in [
            (2, 0),
            (6, 0),
            (8, 0),
            (9, 1),
            (10, 1),
            (12, 2),
            (20, 5),
            (50, 17),
            (3000, 1445),
        ] {
            let values: Vec<f64> = (0..n).rev().map(f64::from).collect();
            let interval = exact_interval(&values).unwrap();
            assert_eq!(interval, (f64::from(out), f64::from(n - 1 - out)), "{n}");
        }
    }

    /// The time of a request on a busy machine: usually close to its minimum, occasionally far
    /// above.
    fn noisy(floor: f64, random: &mut Random) -> f64 {
        let outlier = if random.unit() < 0.1 {
            5.0 + 45.0 * random.unit()
        } else {
            0.0
        };
        floor + 0.3 * random.normal().abs() + outlier
    }

    fn noisy_pairs(count: usize, floors: (f64, f64), random: &mut Random) -> Vec<(f64, f64)> {
        let pair = |_| (noisy(floors.0, random), noisy(floors.1, random));
        (0..count).map(pair).collect()
    }

    #[test]
    fn equals_seem_different_once_in_twenty_at_most() {
        const EXPERIMENTS: usize = 4000;
        let mut random = Random::seeded(1);
        for count in [6, 10, 20] {
            let falsely = (0..EXPERIMENTS).filter(|_| {
                let pairs = noisy_pairs(count, (100.0, 100.0), &mut random);
                let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
                let (low, high) = exact_interval(&differences).unwrap();
                low > 0.0 || high < 0.0
            });
            let falsely = falsely.count() as f64 / EXPERIMENTS as f64;
            assert!(falsely <= 0.05, "{count} pairs: {falsely}");
        }
    }

    #[test]
    fn a_real_difference_is_found_despite_noise() {
        const EXPERIMENTS: usize = 60;
        let mut random = Random::seeded(1);
        // Six pairs must all lie on one side, and one in ten is an outlier.
        for (count, least) in [(6, 0.4), (20, 0.95)] {
            let shown = (0..EXPERIMENTS).filter(|_| {
                let pairs = noisy_pairs(count, (100.0, 95.0), &mut random);
                Saving::from_pairs(&pairs, &mut random).unwrap().is_shown() == Some(true)
            });
            let shown = shown.count() as f64 / EXPERIMENTS as f64;
            assert!(shown >= least, "{count} pairs: {shown}");
        }
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_median_and_lies_among_the_differences(
            pairs in proptest::collection::vec((0.0..1e3, 0.0..1e3), 2..30), seed: u64
        ) {
            let saving = Saving::from_pairs(&pairs, &mut Random::seeded(seed)).unwrap();
            prop_assert!(saving.low <= saving.median && saving.median <= saving.high);
            let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
            let all = Summary::from_samples(&differences).unwrap();
            prop_assert!(all.min <= saving.low && saving.high <= all.max);
            let (low, high) = exact_interval(&differences).unwrap();
            prop_assert!(saving.low <= low && high <= saving.high);
        }

        #[test]
        fn savings_one_way_are_losses_the_other_way(
            pairs in proptest::collection::vec((1.0..1e3, 1.0..1e3), 2..30), seed: u64
        ) {
            let back: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
            let there = Saving::from_pairs(&pairs, &mut Random::seeded(seed)).unwrap();
            let back = Saving::from_pairs(&back, &mut Random::seeded(seed)).unwrap();
            prop_assert!((there.median + back.median).abs() < 1e-9);
            prop_assert_eq!(there.is_shown(), back.is_shown());
        }
    }
}
