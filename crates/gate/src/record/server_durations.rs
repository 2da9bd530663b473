//! How long exchanges took, as the semantic conventions of OpenTelemetry count it:
//! `http.server.request.duration`, by a bounded number of words.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use roundtrip_otlp::{BucketCounts, DURATION_BOUNDS};
use roundtrip_wire::otlp::{Attribute, HistogramMetric, HistogramPoint};

use super::{LabelValue, Protocol};

/// More kinds than there are methods, statuses that servers use, and errors.
const MAX_KINDS: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DurationKind {
    pub(crate) method: &'static str,
    pub(crate) secure: bool,
    pub(crate) protocol: Protocol,
    pub(crate) status: u16,
    pub(crate) error: Option<&'static str>,
}

/// One thread's durations: that thread adds, and the sender reads once in a while, so that the lock
/// is almost always free.
#[derive(Default)]
pub(crate) struct ServerDurations(Mutex<BTreeMap<DurationKind, BucketCounts>>);

impl ServerDurations {
    pub(crate) fn add(&self, kind: DurationKind, took: Duration) {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kinds.len() >= MAX_KINDS && !kinds.contains_key(&kind) {
            return;
        }
        let counts = kinds.entry(kind).or_default();
        counts.add(took.as_secs_f64(), &DURATION_BOUNDS);
    }
}

/// The sum over all threads.
pub(crate) fn metric<'a>(
    threads: impl IntoIterator<Item = &'a ServerDurations>,
    start: u64,
    time: u64,
) -> Option<HistogramMetric> {
    let mut sums: BTreeMap<DurationKind, BucketCounts> = BTreeMap::new();
    for thread in threads {
        let kinds = thread.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, counts) in kinds.iter() {
            sums.entry(*kind).or_default().merge(counts);
        }
    }
    let points: Vec<HistogramPoint> = sums
        .iter()
        .map(|(kind, counts)| counts.point(kind.attributes()))
        .collect();
    (!points.is_empty()).then_some(HistogramMetric {
        name: "http.server.request.duration",
        description: "Duration of HTTP server requests.",
        unit: "s",
        bounds: &DURATION_BOUNDS,
        start,
        time,
        points,
    })
}

impl DurationKind {
    fn attributes(&self) -> Vec<Attribute> {
        let mut attributes = vec![
            Attribute::new("http.request.method", self.method),
            Attribute::new("url.scheme", if self.secure { "https" } else { "http" }),
            Attribute::new("network.protocol.version", self.protocol.version()),
        ];
        if self.status > 0 {
            let status = i64::from(self.status);
            attributes.push(Attribute::new("http.response.status_code", status));
        }
        let error = self.error.map(|error| Attribute::new("error.type", error));
        attributes.extend(error);
        attributes
    }
}

impl Protocol {
    /// The version of HTTP. Gate does not tell 1.0 from 1.1.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::H1 => "1.1",
            Self::H2 => "2",
            Self::H3 => "3",
        }
    }
}

/// Ordered by the words.
impl PartialOrd for Protocol {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Protocol {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.index().cmp(&other.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_summed_and_kinds_are_bounded() {
        let threads = [ServerDurations::default(), ServerDurations::default()];
        let kind = |status| DurationKind {
            method: "GET",
            secure: true,
            protocol: Protocol::H2,
            status,
            error: None,
        };
        assert!(metric(&threads, 1, 2).is_none());
        threads[0].add(kind(200), Duration::from_millis(6));
        threads[1].add(kind(200), Duration::from_mins(1));
        let found = metric(&threads, 1, 2).unwrap();
        let [point] = &found.points[..] else {
            panic!("{found:?}");
        };
        assert_eq!((point.counts[1], *point.counts.last().unwrap()), (1, 1));
        assert!((point.sum - 60.006).abs() < 1e-9);
        for status in 0..=MAX_KINDS as u16 {
            threads[0].add(kind(status), Duration::ZERO);
        }
        assert_eq!(metric(&threads[..1], 1, 2).unwrap().points.len(), MAX_KINDS);
    }
}
