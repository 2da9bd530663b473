//! What a remedy saves: the difference of measurements that were made in pairs, and how sure that is.

use serde::Serialize;

use crate::{Random, Summary};

/// How often the pairs are drawn anew.
const DRAWS: usize = 2000;
/// The share of draws between `low` and `high`.
pub const CONFIDENCE: f64 = 0.95;
/// Of fewer, all lie on the same side of zero by chance alone more often than once in twenty: 2 · 2⁻⁵ is 6 %.
const LEAST_PAIRS: usize = 6;

/// The median of (before − after) over all pairs, with its bootstrap interval (percentiles; Efron, 1979).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Saving {
    pub pairs: usize,
    pub median: f64,
    pub low: f64,
    pub high: f64,
    /// The median as a share of the median before; `None` where that is zero.
    pub share: Option<f64>,
}

impl Saving {
    /// `None` for fewer than two pairs, which say nothing of their spread. Pairs that are no numbers are left out.
    pub fn of(pairs: &[(f64, f64)], random: &mut Random) -> Option<Self> {
        let whole = |(before, after): &&(f64, f64)| before.is_finite() && after.is_finite();
        let pairs: Vec<(f64, f64)> = pairs.iter().filter(whole).copied().collect();
        if pairs.len() < 2 {
            return None;
        }
        let differences: Vec<f64> = pairs.iter().map(|(before, after)| before - after).collect();
        let before: Vec<f64> = pairs.iter().map(|(before, _)| *before).collect();
        let median = Summary::of(&differences)?.median;
        let base = Summary::of(&before)?.median;
        let mut drawn: Vec<f64> = (0..DRAWS)
            .filter_map(|_| Summary::of(&redrawn(&differences, random)))
            .map(|summary| summary.median)
            .collect();
        drawn.sort_by(f64::total_cmp);
        let tail = (1.0 - CONFIDENCE) / 2.0;
        let at = |share: f64| drawn.get((share * (drawn.len() - 1) as f64).round() as usize);
        Some(Self {
            pairs: pairs.len(),
            median,
            low: *at(tail)?,
            high: *at(1.0 - tail)?,
            share: (base != 0.0).then(|| median / base),
        })
    }

    /// The interval does not hold zero: something is saved, or lost. `None` for too few pairs to be that sure.
    pub fn is_shown(&self) -> Option<bool> {
        (self.pairs >= LEAST_PAIRS).then_some(self.low > 0.0 || self.high < 0.0)
    }
}

/// As many as there are, each drawn from all.
fn redrawn(values: &[f64], random: &mut Random) -> Vec<f64> {
    let draw = |_| values.get(random.below(values.len())).copied();
    (0..values.len()).filter_map(draw).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(pairs: &[(f64, f64)]) -> Option<Saving> {
        Saving::of(pairs, &mut Random::seeded(1))
    }

    #[test]
    fn one_pair_shows_nothing() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(2.0, 1.0)]), None);
        assert_eq!(of(&[(2.0, 1.0), (f64::NAN, 1.0)]), None);
    }

    #[test]
    fn noise_around_nothing_is_no_saving() {
        let pairs: Vec<(f64, f64)> = (0..20)
            .map(|i| (100.0, 100.0 + f64::from(i % 5 - 2)))
            .collect();
        let saving = of(&pairs).unwrap();
        assert_eq!(saving.is_shown(), Some(false), "{saving:?}");
    }

    #[test]
    fn what_drifts_in_both_is_still_seen_between_them() {
        // Each pair is 40 apart, while both move by hundreds: unpaired, nothing would be seen.
        let pairs: Vec<(f64, f64)> = (0..10)
            .map(|i| f64::from(i) * 300.0 + 100.0)
            .map(|level| (level, level - 40.0))
            .collect();
        let saving = of(&pairs).unwrap();
        assert_eq!((saving.low, saving.median, saving.high), (40.0, 40.0, 40.0));
        assert_eq!(saving.is_shown(), Some(true));
        // Five would do so by chance, one time in sixteen.
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

    proptest! {
        #[test]
        fn the_interval_holds_the_median_and_lies_among_the_differences(
            pairs in proptest::collection::vec((0.0..1e3, 0.0..1e3), 2..30), seed: u64
        ) {
            let saving = Saving::of(&pairs, &mut Random::seeded(seed)).unwrap();
            prop_assert!(saving.low <= saving.median && saving.median <= saving.high);
            let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
            let all = Summary::of(&differences).unwrap();
            prop_assert!(all.min <= saving.low && saving.high <= all.max);
        }

        #[test]
        fn what_is_saved_one_way_is_lost_the_other(
            pairs in proptest::collection::vec((1.0..1e3, 1.0..1e3), 2..30), seed: u64
        ) {
            let back: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
            let there = Saving::of(&pairs, &mut Random::seeded(seed)).unwrap();
            let back = Saving::of(&back, &mut Random::seeded(seed)).unwrap();
            prop_assert!((there.median + back.median).abs() < 1e-9);
            prop_assert_eq!(there.is_shown(), back.is_shown());
        }
    }
}
