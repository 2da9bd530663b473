//! Summarises many measurements in a few numbers.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    pub n: usize,
    pub min: f64,
    pub median: f64,
    pub mean: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
    pub stddev: f64,
}

impl Summary {
    /// The summary; `None` without samples. Values that are not numbers are ignored.
    pub fn from_samples(samples: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|s| s.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let n = sorted.len();
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let variance = sorted.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n as f64;
        Some(Self {
            n,
            min,
            median: quantile(&sorted, 0.5),
            mean,
            p90: quantile(&sorted, 0.9),
            p99: quantile(&sorted, 0.99),
            max,
            stddev: variance.sqrt(),
        })
    }
}

/// The value below which a share `q` of the sorted samples lies, interpolated between neighbours
/// (R's type 7).
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len().saturating_sub(1)) as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    match (sorted.get(low), sorted.get(high)) {
        (Some(a), Some(b)) => a + (b - a) * (place - low as f64),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_samples_give_no_summary() {
        assert_eq!(Summary::from_samples(&[]), None);
        assert_eq!(Summary::from_samples(&[f64::NAN]), None);
    }

    #[test]
    fn quantiles_interpolate() {
        let s = Summary::from_samples(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((s.min, s.median, s.mean, s.max), (1.0, 2.5, 2.5, 4.0));
        assert!((s.p90 - 3.7).abs() < 1e-9);
        let one = Summary::from_samples(&[7.0]).unwrap();
        assert_eq!((one.median, one.p99, one.stddev), (7.0, 7.0, 0.0));
    }
}
