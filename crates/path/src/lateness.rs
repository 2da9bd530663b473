//! A histogram of durations: sixteen buckets for each power of two of nanoseconds, hence quantiles within 1/16.

use std::time::Duration;

/// Buckets for each power of two, and their number's logarithm.
const STEPS: u64 = 16;
const STEPS_LOG: u32 = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: Duration,
}

impl Histogram {
    pub(crate) fn record(&mut self, value: Duration) {
        let bucket = bucket(u64::try_from(value.as_nanos()).unwrap_or(u64::MAX));
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.total += 1;
        self.max = self.max.max(value);
    }

    /// The least value that `share` of all do not exceed, rounded up to its bucket's end.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let rank = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank && seen > 0 {
                return Duration::from_nanos(upper_end(bucket)).min(self.max);
            }
        }
        self.max
    }

    pub(crate) fn max(&self) -> Duration {
        self.max
    }
}

fn bucket(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let power = value.ilog2() - STEPS_LOG;
    let step = (value >> power) - STEPS;
    (u64::from(power + 1) * STEPS + step) as usize
}

fn upper_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let power = bucket / STEPS - 1;
    let start = u128::from(STEPS + bucket % STEPS) << power;
    u64::try_from(start + (1 << power) - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_all_numbers() {
        for value in [0, 15, 16, 17, 31, 32, 33, 1000, 123_456_789, u64::MAX] {
            assert!(value <= upper_end(bucket(value)), "{value} fits");
            let before = bucket(value).checked_sub(1).map(upper_end);
            assert!(
                before.is_none_or(|end| end < value),
                "{value} in no earlier bucket"
            );
        }
    }

    #[test]
    fn quantiles_are_within_a_sixteenth() {
        let mut histogram = Histogram::default();
        (1..=1000)
            .map(Duration::from_micros)
            .for_each(|value| histogram.record(value));
        for (share, exact) in [(0.5, 500.0), (0.99, 990.0)] {
            let ratio = histogram.quantile(share).as_secs_f64() * 1e6 / exact;
            assert!((1.0..=1.07).contains(&ratio), "{share}: {ratio}");
        }
        assert_eq!(histogram.max(), Duration::from_millis(1));
    }

    #[test]
    fn nothing_recorded_is_nothing_late() {
        assert_eq!(Histogram::default().quantile(0.99), Duration::ZERO);
    }
}
