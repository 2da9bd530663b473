//! The durations and round trips of exchanges since the start, by request and result.

use std::collections::BTreeMap;

use roundtrip_model::{Exchange, Target};
use roundtrip_wire::otlp::{Attribute, HistogramMetric, HistogramPoint};

use crate::exchange_spans::error_type;

/// The limits that the semantic conventions advise for durations, in seconds.
pub const DURATION_BOUNDS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];
const ROUND_TRIPS: [f64; 10] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 20.0];
/// The largest number of sets of attributes; exchanges with further ones are not counted.
const MAX_SETS: usize = 1000;

/// The labels of an exchange: only words from bounded sets, no URLs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    method: String,
    server: String,
    port: u16,
    status: Option<u16>,
    error: Option<String>,
    version: String,
}

/// How many values fell between neighbouring bounds, and their sum.
#[derive(Debug, Clone, Default)]
pub struct BucketCounts {
    sum: f64,
    buckets: Vec<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Histograms {
    kinds: BTreeMap<Kind, [BucketCounts; 2]>,
}

impl BucketCounts {
    /// Adds a value. `bounds` are the same for all values.
    pub fn add(&mut self, value: f64, bounds: &[f64]) {
        self.buckets.resize(bounds.len() + 1, 0);
        self.sum += value;
        let place = bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.buckets.get_mut(place) {
            *count += 1;
        }
    }

    /// Adds the counts of another histogram with the same bounds.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.resize(other.buckets.len(), 0);
        self.sum += other.sum;
        for (all, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *all += more;
        }
    }

    pub fn point(&self, attributes: Vec<Attribute>) -> HistogramPoint {
        HistogramPoint {
            attributes,
            sum: self.sum,
            counts: self.buckets.clone(),
        }
    }
}

impl Histograms {
    pub(crate) fn add(&mut self, exchange: &Exchange) {
        let Ok(target) = Target::parse(&exchange.url) else {
            return;
        };
        let http = exchange.http.as_ref();
        let kind = Kind {
            method: http
                .or(exchange.unanswered.as_ref())
                .map_or_else(String::new, |http| http.method.clone()),
            server: target.host_name(),
            port: target.port,
            status: http.map(|http| http.status),
            error: error_type(exchange),
            version: http.map_or_else(String::new, |http| http.version.clone()),
        };
        if self.kinds.len() >= MAX_SETS && !self.kinds.contains_key(&kind) {
            return;
        }
        let [seconds, trips] = self.kinds.entry(kind).or_default();
        seconds.add(exchange.total().as_secs_f64(), &DURATION_BOUNDS);
        trips.add(exchange.round_trips().into(), &ROUND_TRIPS);
    }

    pub(crate) fn metrics(&self, start: u64, time: u64) -> Vec<HistogramMetric> {
        if self.kinds.is_empty() {
            return Vec::new();
        }
        let points = |place: usize| {
            let kinds = self.kinds.iter();
            let points = kinds.filter_map(|(kind, counts)| {
                let counts = counts.get(place)?;
                Some(HistogramPoint {
                    attributes: kind.attributes(),
                    sum: counts.sum,
                    counts: counts.buckets.clone(),
                })
            });
            points.collect()
        };
        vec![
            HistogramMetric {
                name: "http.client.request.duration",
                description: "Duration of HTTP client requests.",
                unit: "s",
                bounds: &DURATION_BOUNDS,
                start,
                time,
                points: points(0),
            },
            HistogramMetric {
                name: "roundtrip.round_trips",
                description: "How often a request waited for an answer across the whole path.",
                unit: "{round_trip}",
                bounds: &ROUND_TRIPS,
                start,
                time,
                points: points(1),
            },
        ]
    }
}

impl Kind {
    fn attributes(&self) -> Vec<Attribute> {
        let mut all = vec![
            Attribute::new("http.request.method", self.method.clone()),
            Attribute::new("server.address", self.server.clone()),
            Attribute::new("server.port", i64::from(self.port)),
        ];
        let status = self
            .status
            .map(|status| Attribute::new("http.response.status_code", i64::from(status)));
        let error = self
            .error
            .clone()
            .map(|error| Attribute::new("error.type", error));
        let version = Some(&self.version).filter(|version| !version.is_empty());
        let version =
            version.map(|version| Attribute::new("network.protocol.version", version.clone()));
        all.extend(status.into_iter().chain(error).chain(version));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_bounded_and_values_fall_into_their_buckets() {
        let mut histograms = Histograms::default();
        let exchange = |port: usize| Exchange {
            url: format!("http://h:{port}/x"),
            ..Exchange::default()
        };
        for port in 1..=MAX_SETS + 5 {
            histograms.add(&exchange(port));
        }
        histograms.add(&exchange(1));
        let metrics = histograms.metrics(1, 2);
        assert_eq!(metrics[0].points.len(), MAX_SETS);
        let counts: Vec<u64> = metrics[1].points.iter().map(|p| p.counts[0]).collect();
        assert_eq!(counts.iter().sum::<u64>(), MAX_SETS as u64 + 1);
        let mut counts = BucketCounts::default();
        for value in [0.005, 0.0051, 11.0] {
            counts.add(value, &DURATION_BOUNDS);
        }
        assert_eq!(
            (counts.buckets[0], counts.buckets[1], counts.buckets[14]),
            (1, 1, 1)
        );
    }
}
