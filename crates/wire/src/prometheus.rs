//! Metrics in Prometheus' protobuf exposition format: messages `io.prometheus.client.MetricFamily`,
//! each with its length in front. Only this format has native histograms.

use std::collections::BTreeMap;

use crate::protobuf::{bytes, fixed64, message, number, varint};

/// Each power of two is divided into 2^3 buckets, so that neighbouring limits differ by 9 %.
const SCHEMA: i32 = 3;
const BUCKETS_PER_DOUBLING: f64 = 8.0;
/// Values below 2^-40 or above 2^40 are counted in the outermost buckets.
const MAX_INDEX: i32 = 40 * 8;
/// Prometheus' default: a value that is not above it counts as zero.
const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// All metrics of one name.
#[derive(Debug, Clone)]
pub struct MetricFamily {
    pub name: &'static str,
    pub help: &'static str,
    pub kind: MetricKind,
    pub metrics: Vec<Metric>,
}

#[derive(Debug, Clone)]
pub struct Metric {
    pub labels: Vec<(&'static str, String)>,
    pub value: MetricValue,
}

#[derive(Debug, Clone)]
pub enum MetricValue {
    /// The value of a counter or a gauge.
    Number(f64),
    Histogram(Histogram),
}

/// A classic and a native histogram of the same values.
#[derive(Debug, Clone)]
pub struct Histogram {
    limits: &'static [f64],
    /// How many values are not above each limit.
    cumulative: Vec<u64>,
    native: BTreeMap<i32, u64>,
    zeros: u64,
    count: u64,
    sum: f64,
}

impl Histogram {
    /// `limits` are the upper limits of the classic buckets, in rising order.
    pub fn new(limits: &'static [f64]) -> Self {
        Self {
            limits,
            cumulative: vec![0; limits.len()],
            native: BTreeMap::new(),
            zeros: 0,
            count: 0,
            sum: 0.0,
        }
    }

    /// Adds a value that is not negative; others are counted as zero.
    pub fn add(&mut self, value: f64) {
        let value = if value > 0.0 { value } else { 0.0 };
        for (limit, count) in self.limits.iter().zip(&mut self.cumulative) {
            *count += u64::from(value <= *limit);
        }
        if value <= ZERO_THRESHOLD {
            self.zeros += 1;
        } else {
            *self.native.entry(native_index(value)).or_default() += 1;
        }
        self.count += 1;
        self.sum += value;
    }

    /// The classic buckets: each limit, and how many values are not above it.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        self.limits
            .iter()
            .copied()
            .zip(self.cumulative.iter().copied())
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn sum(&self) -> f64 {
        self.sum
    }

    fn write(&self, out: &mut Vec<u8>) {
        number(out, 1, self.count);
        double(out, 2, self.sum);
        for (limit, count) in self.buckets() {
            message(out, 3, |bucket| {
                number(bucket, 1, count);
                double(bucket, 2, limit);
            });
        }
        number(out, 5, signed(SCHEMA.into()));
        double(out, 6, ZERO_THRESHOLD);
        number(out, 7, self.zeros);
        for (offset, length) in self.spans() {
            message(out, 12, |span| {
                number(span, 1, signed(offset.into()));
                number(span, 2, length);
            });
        }
        let mut before = 0;
        for count in self.native.values() {
            // Each count is written as the difference from the one before it.
            let count = count.cast_signed();
            number(out, 13, signed(count - before));
            before = count;
        }
    }

    /// Runs of neighbouring buckets: the distance from the run before, and how many buckets.
    fn spans(&self) -> Vec<(i32, u64)> {
        let mut spans: Vec<(i32, u64)> = Vec::new();
        let mut next = 0;
        for index in self.native.keys() {
            match spans.last_mut() {
                Some((_, length)) if *index == next => *length += 1,
                _ => spans.push((index - next, 1)),
            }
            next = index + 1;
        }
        spans
    }
}

/// The index of the bucket of this value. A bucket ends at 2^(index / 8), and begins where the one
/// before it ends.
fn native_index(value: f64) -> i32 {
    let index = (value.log2() * BUCKETS_PER_DOUBLING).ceil();
    // A float becomes the nearest number that the type holds.
    (index as i32).clamp(-MAX_INDEX, MAX_INDEX)
}

fn double(out: &mut Vec<u8>, field: u64, value: f64) {
    fixed64(out, field, value.to_bits());
}

/// Protobuf's `sint32` and `sint64`: the sign is the lowest bit.
fn signed(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Encodes families for one scrape.
pub fn encode(families: &[MetricFamily]) -> Vec<u8> {
    let mut out = Vec::new();
    for family in families {
        let mut one = Vec::new();
        family.write(&mut one);
        varint(&mut out, one.len() as u64);
        out.extend_from_slice(&one);
    }
    out
}

impl MetricFamily {
    fn write(&self, out: &mut Vec<u8>) {
        bytes(out, 1, self.name.as_bytes());
        bytes(out, 2, self.help.as_bytes());
        let (kind, value_field) = match self.kind {
            MetricKind::Counter => (0, 3),
            MetricKind::Gauge => (1, 2),
            MetricKind::Histogram => (4, 7),
        };
        number(out, 3, kind);
        for metric in &self.metrics {
            message(out, 4, |out| {
                for (name, value) in &metric.labels {
                    message(out, 1, |label| {
                        bytes(label, 1, name.as_bytes());
                        bytes(label, 2, value.as_bytes());
                    });
                }
                message(out, value_field, |out| match &metric.value {
                    MetricValue::Number(value) => double(out, 1, *value),
                    MetricValue::Histogram(histogram) => histogram.write(out),
                });
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_belongs_to_the_bucket_below_it() {
        for (value, index) in [
            (1.0, 0),
            (1.000_001, 1),
            (2.0, 8),
            (0.5, -8),
            (0.51, -7),
            (f64::INFINITY, MAX_INDEX),
            (1e-30, -MAX_INDEX),
        ] {
            assert_eq!(native_index(value), index, "{value}");
        }
    }

    #[test]
    fn neighbours_share_a_span() {
        let mut histogram = Histogram::new(&[0.5, 1.0]);
        for value in [1.0, 1.0, 1.05, 4.0, 0.0, -1.0, f64::NAN] {
            histogram.add(value);
        }
        assert_eq!(histogram.spans(), [(0, 2), (14, 1)]);
        assert_eq!(histogram.zeros, 3);
        let classic: Vec<_> = histogram.buckets().collect();
        assert_eq!(classic, [(0.5, 3), (1.0, 5)]);
        assert_eq!((histogram.count(), histogram.sum()), (7, 7.05));
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let mut histogram = Histogram::new(&[]);
        histogram.add(1.0);
        histogram.add(1.0);
        histogram.add(2.0);
        let families = [MetricFamily {
            name: "a",
            help: "b",
            kind: MetricKind::Histogram,
            metrics: vec![Metric {
                labels: vec![("c", "d".to_owned())],
                value: MetricValue::Histogram(histogram),
            }],
        }];
        let mut histogram = vec![0x08, 3, 0x11];
        histogram.extend(4.0_f64.to_le_bytes());
        histogram.extend([0x28, 6, 0x31]);
        histogram.extend(ZERO_THRESHOLD.to_le_bytes());
        histogram.extend([0x38, 0]);
        // Spans of one bucket: at 0, and 7 buckets further.
        histogram.extend([0x62, 4, 0x08, 0, 0x10, 1, 0x62, 4, 0x08, 14, 0x10, 1]);
        // The counts of the buckets as differences: 2, then -1.
        histogram.extend([0x68, 4, 0x68, 1]);
        let mut metric = vec![0x0a, 6, 0x0a, 1, b'c', 0x12, 1, b'd', 0x3a];
        metric.push(histogram.len() as u8);
        metric.extend(histogram);
        let mut family = vec![
            0x0a,
            1,
            b'a',
            0x12,
            1,
            b'b',
            0x18,
            4,
            0x22,
            metric.len() as u8,
        ];
        family.extend(metric);
        let mut expected = vec![family.len() as u8];
        expected.extend(family);
        assert_eq!(encode(&families), expected);
    }
}
