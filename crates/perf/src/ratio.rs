//! Two costs compared: what TLS cost in the same run, divided by what an arm cost. Pure.

use roundtrip_model::{Random, Saving, Summary};

/// A quotient of medians, and how certain it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostRatio {
    pub ratio: f64,
    /// The confidence interval; `None` for fewer than two rounds, and for the arm that the others
    /// are compared with.
    pub interval: Option<RatioInterval>,
}

/// The 95 % interval of the ratio within a round: drift from round to round is not part of it. For
/// fewer than six rounds it covers all of them, and is less certain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioInterval {
    pub low: f64,
    pub high: f64,
    pub pairs: usize,
}

impl CostRatio {
    /// Makes a ratio. `tls` and `own` hold one cost for each round.
    pub(crate) fn new(tls: &[f64], own: &[f64]) -> Option<Self> {
        let median = |costs| Some(Summary::from_samples(costs)?.median).filter(|cost| *cost > 0.0);
        let ratio = median(tls)? / median(own)?;
        // A quotient is a difference of logarithms.
        let logarithms = tls.iter().zip(own).map(|(tls, own)| (tls.ln(), own.ln()));
        let pairs: Vec<(f64, f64)> = logarithms.collect();
        let interval =
            Saving::from_pairs(&pairs, &mut Random::seeded(0)).map(|saving| RatioInterval {
                // The quotient of medians may lie outside the range of the pairs.
                low: saving.low.exp().min(ratio),
                high: saving.high.exp().max(ratio),
                pairs: saving.pairs,
            });
        Some(Self { ratio, interval })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_not_part_of_the_interval() {
        // Each round costs twice as much as the one before, for both.
        let tls: Vec<f64> = (0..8).map(|round| f64::from(1 << round)).collect();
        let own: Vec<f64> = tls.iter().map(|cost| cost * 2.0).collect();
        let found = CostRatio::new(&tls, &own).unwrap();
        let interval = found.interval.unwrap();
        for value in [found.ratio, interval.low, interval.high] {
            assert!((value - 0.5).abs() < 1e-9, "{found:?}");
        }
        assert_eq!(interval.pairs, 8);
    }

    #[test]
    fn few_rounds_are_all_within_the_interval() {
        let found = CostRatio::new(&[0.2, 0.3, 0.4], &[0.4, 0.4, 0.4]).unwrap();
        let interval = found.interval.unwrap();
        assert!((found.ratio - 0.75).abs() < 1e-9, "{found:?}");
        assert!((interval.low - 0.5).abs() < 1e-9, "{found:?}");
        assert!((interval.high - 1.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn one_round_has_no_interval_and_no_cost_no_ratio() {
        assert_eq!(CostRatio::new(&[0.2], &[0.4]).unwrap().interval, None);
        assert_eq!(CostRatio::new(&[], &[0.4]), None);
        assert_eq!(CostRatio::new(&[0.2], &[0.0]), None);
    }
}
