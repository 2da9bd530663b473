//! Sums and counts over the readings of one period. Periods can be added up, so a column of a
//! picture can show several.

use std::collections::BTreeMap;
use std::time::Duration;

use roundtrip_model::{Histogram, Waited};
use serde::{Deserialize, Serialize};

use crate::Reading;

/// The largest number of causes, and of kinds of failures, in one period; a server cannot exceed
/// it.
const MAX_NAMES: usize = 64;
/// The largest count. It is more than a period can have, and small enough to add up as many periods
/// as a history has.
const MAX_COUNT: u64 = 1 << 48;
/// Later than any clock, in seconds since 1970; in milliseconds, it is still a number.
const MAX_START: u64 = u64::MAX / 2000;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Period {
    /// Seconds since 1970.
    pub start: u64,
    /// Readings that succeeded.
    pub ok: u64,
    /// The number of failures, by kind.
    pub failures: BTreeMap<String, u64>,
    /// The waits in milliseconds, summed over all readings: network, server, client, resolver,
    /// loss.
    waited: [f64; 5],
    /// The time waited for the server or the path, if nothing shows for which of them.
    unknown_ms: f64,
    total_ms: f64,
    /// The smallest round trip of the path, in milliseconds.
    pub rtt_ms: Option<f64>,
    round_trips: u64,
    pub max_round_trips: u32,
    /// For each cause, the number of readings that had it and its total cost in milliseconds.
    pub findings: BTreeMap<String, (u64, f64)>,
    /// The totals of the readings, in the buckets of [`Histogram`].
    totals: BTreeMap<u16, u64>,
}

impl Period {
    /// A period without readings.
    pub fn from_start(start: u64) -> Self {
        Self {
            start,
            ..Self::default()
        }
    }

    /// Whether sums of periods like this one stay within their types. If not, the file was changed;
    /// its other periods are still worth showing.
    pub(crate) fn is_plausible(&self) -> bool {
        let named = self.findings.values().map(|(count, _)| count);
        let mut counts = named
            .chain(self.failures.values())
            .chain(self.totals.values())
            .chain([&self.ok, &self.round_trips]);
        let last = self.totals.keys().last();
        self.start < MAX_START
            && counts.all(|count| *count < MAX_COUNT)
            && last.is_none_or(|last| usize::from(*last) <= Histogram::bucket(u64::MAX))
            && self.failures.len().max(self.findings.len()) <= MAX_NAMES + 1
    }

    pub fn add(&mut self, reading: &Reading) {
        if let Some(kind) = &reading.failure {
            *kept(&mut self.failures, kind) += 1;
            return;
        }
        self.ok += 1;
        let of = &reading.waited;
        let waited = [of.network, of.server, of.client, of.resolver, of.loss];
        for (sum, ms) in self.waited.iter_mut().zip(waited) {
            *sum += positive(ms);
        }
        self.unknown_ms += positive(of.unknown);
        self.total_ms += reading.total_ms;
        self.rtt_ms = smaller(self.rtt_ms, reading.rtt_ms);
        self.round_trips += u64::from(reading.round_trips);
        self.max_round_trips = self.max_round_trips.max(reading.round_trips);
        for (id, ms) in &reading.findings {
            let (count, cost) = kept(&mut self.findings, id);
            (*count, *cost) = (*count + 1, *cost + ms);
        }
        let nanoseconds = (reading.total_ms.max(0.0) * 1e6) as u64;
        let bucket = u16::try_from(Histogram::bucket(nanoseconds)).unwrap_or(u16::MAX);
        *self.totals.entry(bucket).or_default() += 1;
    }

    /// Adds all readings of another period.
    pub fn extend(&mut self, other: &Self) {
        self.ok += other.ok;
        for (kind, count) in &other.failures {
            *kept(&mut self.failures, kind) += count;
        }
        for (sum, more) in self.waited.iter_mut().zip(other.waited) {
            *sum += more;
        }
        self.unknown_ms += other.unknown_ms;
        self.total_ms += other.total_ms;
        self.rtt_ms = smaller(self.rtt_ms, other.rtt_ms);
        self.round_trips += other.round_trips;
        self.max_round_trips = self.max_round_trips.max(other.max_round_trips);
        for (id, (count, ms)) in &other.findings {
            let (sum, cost) = kept(&mut self.findings, id);
            (*sum, *cost) = (*sum + count, *cost + ms);
        }
        for (bucket, count) in &other.totals {
            *self.totals.entry(*bucket).or_default() += count;
        }
    }

    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Returns the mean wait of a successful reading for each party, in milliseconds.
    pub fn waited(&self) -> Waited {
        let n = self.ok.max(1) as f64;
        let [network, server, client, resolver, loss] = self.waited.map(|ms| ms / n);
        Waited {
            network,
            server,
            client,
            resolver,
            loss,
            unknown: self.unknown_ms / n,
        }
    }

    pub fn mean_ms(&self) -> Option<f64> {
        (self.ok > 0).then(|| self.total_ms / self.ok as f64)
    }

    pub fn round_trips(&self) -> Option<f64> {
        (self.ok > 0).then(|| self.round_trips as f64 / self.ok as f64)
    }

    /// Returns the total that this share of the readings does not exceed, in milliseconds, within
    /// one sixteenth.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let mut totals = Histogram::default();
        for (bucket, count) in &self.totals {
            totals.add(usize::from(*bucket), *count);
        }
        (totals.total() > 0).then(|| ms(totals.quantile(share)))
    }
}

fn positive(ms: f64) -> f64 {
    if ms.is_finite() { ms.max(0.0) } else { 0.0 }
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

fn smaller(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
    }
}

/// Returns the value of this name. Names beyond the limit share one value.
fn kept<'a, T: Default>(names: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    let has_room = names.len() < MAX_NAMES || names.contains_key(name);
    let name = if has_room { name } else { "others" };
    names.entry(name.to_owned()).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(total_ms: f64) -> Reading {
        Reading {
            total_ms,
            waited: Waited {
                server: total_ms,
                ..Waited::default()
            },
            round_trips: 3,
            rtt_ms: Some(total_ms / 3.0),
            findings: vec![("late-answer".into(), 2.0)],
            ..Reading::default()
        }
    }

    #[test]
    fn adding_readings_and_adding_periods_is_the_same() {
        let readings: Vec<Reading> = (1..=100).map(|n| reading(f64::from(n))).collect();
        let mut whole = Period::default();
        let (mut first, mut second) = (Period::default(), Period::default());
        for (n, reading) in readings.iter().enumerate() {
            whole.add(reading);
            if n < 30 { &mut first } else { &mut second }.add(reading);
        }
        first.extend(&second);
        assert_eq!(first, whole);
        assert_eq!(whole.mean_ms(), Some(50.5));
        assert_eq!(whole.round_trips(), Some(3.0));
        let median = whole.quantile(0.5).unwrap();
        assert!((50.0..=54.0).contains(&median), "{median}");
        assert_eq!(whole.findings["late-answer"], (100, 200.0));
    }

    #[test]
    fn a_failure_counts_and_adds_no_time() {
        let mut period = Period::default();
        period.add(&reading(10.0));
        period.add(&Reading {
            failure: Some("refused".into()),
            ..reading(9000.0)
        });
        assert_eq!((period.ok, period.failed()), (1, 1));
        assert_eq!(period.mean_ms(), Some(10.0));
    }

    #[test]
    fn names_are_bounded() {
        let mut period = Period::default();
        for n in 0..1000 {
            period.add(&Reading {
                failure: Some(format!("kind {n}")),
                ..Reading::default()
            });
        }
        assert_eq!(period.failures.len(), MAX_NAMES + 1);
        assert_eq!(period.failed(), 1000);
    }
}
