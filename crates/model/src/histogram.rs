//! A histogram of durations, with sixteen buckets for each power of two of nanoseconds, so that
//! quantiles are exact to within 1/16.

use std::time::Duration;

/// The number of buckets for each power of two, and its logarithm.
const STEPS: u64 = 16;
const STEPS_LOG: u32 = 4;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: Duration,
}

impl Histogram {
    pub fn record(&mut self, value: Duration) {
        let nanoseconds = u64::try_from(value.as_nanos()).unwrap_or(u64::MAX);
        self.count(Self::bucket(nanoseconds), 1);
        self.max = self.max.max(value);
    }

    /// Adds counts from another source, bucket by bucket. The longest duration is then known only
    /// as exactly as its bucket.
    pub fn add(&mut self, bucket: usize, more: u64) {
        if more > 0 {
            self.count(bucket, more);
            self.max = self.max.max(Duration::from_nanos(Self::upper_end(bucket)));
        }
    }

    /// Adds all counts of another histogram.
    pub fn extend(&mut self, other: &Self) {
        for (bucket, count) in other.counts.iter().enumerate() {
            self.count(bucket, *count);
        }
        self.max = self.max.max(other.max);
    }

    fn count(&mut self, bucket: usize, more: u64) {
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += more;
        }
        self.total += more;
    }

    /// The smallest value that `share` of all durations do not exceed, rounded up to the end of its
    /// bucket.
    pub fn quantile(&self, share: f64) -> Duration {
        let rank = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank && seen > 0 {
                return Duration::from_nanos(Self::upper_end(bucket)).min(self.max);
            }
        }
        self.max
    }

    pub fn max(&self) -> Duration {
        self.max
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// The number of durations in this bucket and all before it.
    pub fn up_to(&self, bucket: usize) -> u64 {
        self.counts.iter().take(bucket.saturating_add(1)).sum()
    }

    /// The durations counted since `earlier`, an earlier state of this histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut recent = Self::default();
        for (bucket, count) in self.counts.iter().enumerate() {
            let before = earlier.counts.get(bucket).copied().unwrap_or(0);
            recent.add(bucket, count.saturating_sub(before));
        }
        recent
    }

    /// The bucket in which this many nanoseconds are counted.
    #[inline]
    pub fn bucket(nanoseconds: u64) -> usize {
        if nanoseconds < STEPS {
            return nanoseconds as usize;
        }
        let power = nanoseconds.ilog2() - STEPS_LOG;
        let step = (nanoseconds >> power) - STEPS;
        (u64::from(power + 1) * STEPS + step) as usize
    }

    /// The largest number of nanoseconds that is counted in this bucket.
    pub fn upper_end(bucket: usize) -> u64 {
        let bucket = bucket as u64;
        if bucket < STEPS {
            return bucket;
        }
        let power = bucket / STEPS - 1;
        // There is nothing beyond the last bucket.
        let start = u128::from(STEPS + bucket % STEPS).checked_shl(power as u32);
        let end = start.map(|start| start.saturating_add((1 << power.min(64)) - 1));
        end.and_then(|end| u64::try_from(end).ok())
            .unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_all_numbers() {
        for value in [0, 15, 16, 17, 31, 32, 33, 1000, 123_456_789, u64::MAX] {
            assert!(
                value <= Histogram::upper_end(Histogram::bucket(value)),
                "{value} fits"
            );
            let before = Histogram::bucket(value)
                .checked_sub(1)
                .map(Histogram::upper_end);
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
    fn merged_counts_are_counted_once_each() {
        let (mut one, mut other) = (Histogram::default(), Histogram::default());
        one.record(Duration::from_micros(3));
        other.record(Duration::from_micros(7));
        one.extend(&other);
        one.extend(&Histogram::default());
        assert_eq!((one.total(), one.max()), (2, Duration::from_micros(7)));
        assert!(one.quantile(0.5) < Duration::from_micros(4));
    }

    #[test]
    fn an_empty_histogram_has_no_late_durations() {
        assert_eq!(Histogram::default().quantile(0.99), Duration::ZERO);
    }

    #[test]
    fn counts_of_several_histograms_are_added() {
        let (mut one, mut both) = (Histogram::default(), Histogram::default());
        for nanoseconds in [3, 100, 5000, 5000] {
            one.record(Duration::from_nanos(nanoseconds));
            both.add(Histogram::bucket(nanoseconds), 2);
        }
        assert_eq!((one.total(), both.total()), (4, 8));
        assert_eq!(both.up_to(Histogram::bucket(100)), 4);
        assert!(both.quantile(0.5) >= Duration::from_nanos(100));
        assert!(both.quantile(0.5) < Duration::from_nanos(110));
        let recent = both.since(&one);
        assert_eq!(recent.total(), 4);
        assert_eq!(recent.up_to(Histogram::bucket(100)), 2);
        assert_eq!(both.since(&both), Histogram::default());
        assert_eq!(Histogram::upper_end(usize::MAX), u64::MAX);
    }
}
