//! Whether two series differ by more than chance: the difference of their medians, and its
//! bootstrap interval.

use roundtrip_model::{CONFIDENCE, Random, Summary};

/// The number of times that both series are resampled.
const DRAWS: usize = 2000;
/// A sample is as long as the series, up to this limit: longer ones have intervals far narrower
/// than any relevant difference.
const MAX_DRAW: usize = 1000;
/// The smallest number of values on each side; with fewer, a bootstrap of medians is not reliable.
const MIN_VALUES: usize = 5;

/// B − A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    pub ms: f64,
    /// The difference as a share of A's median; `None` if that is zero.
    pub share: Option<f64>,
    /// The interval; `None` if a side has too few results.
    pub interval: Option<(f64, f64)>,
}

impl Difference {
    /// The difference of series that were measured separately, not in pairs.
    pub(crate) fn new(a: &[f64], b: &[f64], random: &mut Random) -> Self {
        let median =
            |values: &[f64]| Summary::from_samples(values).map_or(0.0, |summary| summary.median);
        let before = median(a);
        let ms = median(b) - before;
        let enough = a.len() >= MIN_VALUES && b.len() >= MIN_VALUES;
        Self {
            ms,
            share: (before > 0.0).then(|| ms / before),
            interval: enough.then(|| interval(a, b, random)).flatten(),
        }
    }

    /// Whether the interval excludes zero. `None` if there is no interval.
    pub fn is_shown(&self) -> Option<bool> {
        self.interval.map(|(low, high)| low > 0.0 || high < 0.0)
    }
}

fn interval(a: &[f64], b: &[f64], random: &mut Random) -> Option<(f64, f64)> {
    let mut drawn: Vec<f64> = (0..DRAWS)
        .filter_map(|_| Some(redrawn(b, random)? - redrawn(a, random)?))
        .collect();
    drawn.sort_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let at =
        |share: f64| drawn.get((share * drawn.len().saturating_sub(1) as f64).round() as usize);
    Some((*at(tail)?, *at(1.0 - tail)?))
}

/// The median of a bootstrap sample: as many values, each drawn at random from all of them.
fn redrawn(values: &[f64], random: &mut Random) -> Option<f64> {
    let draw = |_| values.get(random.below(values.len())).copied();
    let mut drawn: Vec<f64> = (0..values.len().min(MAX_DRAW)).filter_map(draw).collect();
    if drawn.is_empty() {
        return None;
    }
    let half = drawn.len() / 2;
    let is_odd = drawn.len() % 2 == 1;
    let (below, upper, _) = drawn.select_nth_unstable_by(half, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp);
    match lower {
        Some(lower) if !is_odd => Some(f64::midpoint(lower, *upper)),
        _ => Some(*upper),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(a: &[f64], b: &[f64]) -> Difference {
        Difference::new(a, b, &mut Random::seeded(1))
    }

    fn noisy(n: usize, level: f64, random: &mut Random) -> Vec<f64> {
        (0..n).map(|_| level + random.normal()).collect()
    }

    #[test]
    fn few_results_have_no_interval() {
        let few = of(&[3.0], &[1.0]);
        assert_eq!((few.ms, few.interval, few.is_shown()), (-2.0, None, None));
        assert_eq!(of(&[0.0], &[1.0]).share, None);
    }

    #[test]
    fn a_drawn_median_is_a_median() {
        let same = redrawn(&[7.0; 6], &mut Random::seeded(1));
        assert_eq!(
            (same, redrawn(&[], &mut Random::seeded(1))),
            (Some(7.0), None)
        );
        let halves = (0..50).map(|seed| redrawn(&[1.0, 2.0], &mut Random::seeded(seed)).unwrap());
        assert!(
            halves.clone().any(|m| (1.4..1.6).contains(&m))
                && halves.clone().all(|m| (1.0..=2.0).contains(&m))
        );
    }

    #[test]
    fn a_difference_is_shown_only_if_the_samples_are_apart() {
        let a = [10.0, 10.2, 9.9, 10.1, 10.3, 9.8];
        assert_eq!(of(&a, &a.map(|x| x - 3.0)).is_shown(), Some(true));
        assert_eq!(of(&a, &a).is_shown(), Some(false));
    }

    #[test]
    fn the_same_is_seldom_taken_for_different() {
        for n in [MIN_VALUES, 12] {
            let mut random = Random::seeded(n as u64);
            let alarm = |_: &i32| {
                let (a, b) = (noisy(n, 50.0, &mut random), noisy(n, 50.0, &mut random));
                Difference::new(&a, &b, &mut random).is_shown() == Some(true)
            };
            let alarms = (0..200).filter(alarm).count();
            assert!(alarms <= 10, "{alarms} of 200 with {n}");
        }
    }

    proptest! {
        #[test]
        fn the_interval_lies_within_what_is_possible(
            a in proptest::collection::vec(0.0..1e3, MIN_VALUES..20), b in proptest::collection::vec(0.0..1e3, MIN_VALUES..20), seed: u64
        ) {
            let (low, high) = Difference::new(&a, &b, &mut Random::seeded(seed)).interval.unwrap();
            let (a, b) = (Summary::from_samples(&a).unwrap(), Summary::from_samples(&b).unwrap());
            prop_assert!(b.min - a.max <= low && low <= high && high <= b.max - a.min);
        }
    }
}
