//! Finds the lasting change: the moment from which requests wait longer for one party than before,
//! or for a shorter time.

use roundtrip_model::Waited;
use roundtrip_report::Party;

use crate::Period;

/// Fewer periods before or after a moment do not show a lasting change.
const MIN_SIDE: usize = 5;
pub(crate) const MIN_PERIODS: usize = 2 * MIN_SIDE;
/// A change is reported if it is at least this large, in milliseconds and as a share of the total
/// before it, …
const MIN_MS: f64 = 3.0;
const MIN_SHARE: f64 = 0.1;
/// … and this many times the standard error of the difference of the two means. The factor is large
/// because thousands of moments are tried.
const MIN_SCORE: f64 = 8.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LastingChange {
    pub party: Party,
    /// The beginning of the first period after the change, in seconds since 1970.
    pub at: u64,
    /// The mean wait of a request before and after, in milliseconds.
    pub before_ms: f64,
    pub after_ms: f64,
}

/// Returns the largest change that lasts until the end, or `None` if chance explains all of them.
pub fn lasting_change(periods: &[Period]) -> Option<LastingChange> {
    let good: Vec<&Period> = periods.iter().filter(|period| period.ok > 0).collect();
    let total = good.iter().map(|p| p.waited().sum()).sum::<f64>() / good.len().max(1) as f64;
    let least = MIN_MS.max(total * MIN_SHARE);
    Party::ALL
        .into_iter()
        .filter_map(|party| of_party(&good, party))
        .filter(|change| (change.after_ms - change.before_ms).abs() >= least)
        .max_by(|a, b| size(a).total_cmp(&size(b)))
}

fn size(change: &LastingChange) -> f64 {
    (change.after_ms - change.before_ms).abs()
}

/// Finds the split at which the means of both sides differ most, in standard errors.
fn of_party(good: &[&Period], party: Party) -> Option<LastingChange> {
    let waited: Vec<Waited> = good.iter().map(|period| period.waited()).collect();
    let values: Vec<f64> = waited.iter().map(|waited| party.share(waited)).collect();
    let sums = Sums::all(&values);
    let whole = sums.last()?;
    let mut best: Option<(f64, usize, f64, f64)> = None;
    for (at, before) in sums.iter().enumerate() {
        let after = whole.without(before);
        if before.n < MIN_SIDE as f64 || after.n < MIN_SIDE as f64 {
            continue;
        }
        let (a, b) = (before.mean(), after.mean());
        let chance = (before.variance() / before.n + after.variance() / after.n).sqrt();
        let score = (b - a).abs() / chance.max(1e-6);
        if score >= MIN_SCORE && best.is_none_or(|(known, ..)| score > known) {
            best = Some((score, at, a, b));
        }
    }
    let (_, at, before_ms, after_ms) = best?;
    Some(LastingChange {
        party,
        at: good.get(at)?.start,
        before_ms,
        after_ms,
    })
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    /// The sums of the first 0, 1, 2 … values.
    fn all(values: &[f64]) -> Vec<Self> {
        let mut sums = vec![Self::default()];
        let mut now = Self::default();
        for value in values {
            now.n += 1.0;
            now.sum += value;
            now.squares += value * value;
            sums.push(now);
        }
        sums
    }

    fn without(&self, part: &Self) -> Self {
        Self {
            n: self.n - part.n,
            sum: self.sum - part.sum,
            squares: self.squares - part.squares,
        }
    }

    fn mean(&self) -> f64 {
        self.sum / self.n.max(1.0)
    }

    fn variance(&self) -> f64 {
        (self.squares / self.n.max(1.0) - self.mean().powi(2)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reading;

    /// Periods of a minute, with the server's time of each.
    fn periods(server: impl IntoIterator<Item = f64>) -> Vec<Period> {
        let each = server.into_iter().zip(0..);
        each.map(|(server, n)| {
            let mut period = Period::from_start(n * 60);
            let network = 30.0 + (n % 3) as f64;
            period.add(&Reading {
                total_ms: server + network,
                waited: Waited {
                    network,
                    server,
                    ..Waited::default()
                },
                ..Reading::default()
            });
            period
        })
        .collect()
    }

    #[test]
    fn a_step_is_found_where_it_is_and_named() {
        let noise = |n: u32| f64::from(n * 7 % 5);
        let values = (0..200).map(|n| noise(n) + if n < 120 { 10.0 } else { 35.0 });
        let change = lasting_change(&periods(values)).unwrap();
        assert_eq!((change.party, change.at), (Party::Server, 120 * 60));
        assert!((change.after_ms - change.before_ms - 25.0).abs() < 0.5);
    }

    #[test]
    fn chance_and_a_single_spike_are_not_a_change() {
        let noise = (0..400).map(|n: u32| f64::from(n * 7919 % 13));
        assert_eq!(lasting_change(&periods(noise)), None);
        let spike = (0..400).map(|n| if n == 200 { 5000.0 } else { 10.0 });
        assert_eq!(lasting_change(&periods(spike)), None);
        assert_eq!(lasting_change(&periods([1.0, 90.0])), None);
        assert_eq!(lasting_change(&[]), None);
    }
}
