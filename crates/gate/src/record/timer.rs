//! Durations, counted by the buckets of [`Histogram`] in atomics that one thread writes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use roundtrip_model::Histogram;

use super::label_value::words;

/// Up to 2⁴⁰ ns, 18 minutes; longer durations are counted in the last bucket.
const BUCKETS: usize = 37 * 16;

words! {
    /// The timed parts of an exchange.
    Timer {
        /// What gate added: everything except waiting for the backend.
        Added = "added",
        /// The time from the head to the authorization, if the store was asked.
        Authorize = "authorize",
        /// The time from the head to the first byte of the backend's answer.
        FirstByte = "first_byte",
        /// The time from sending the request to the first byte of the backend's answer.
        Backend = "backend",
        Whole = "whole",
    }
}

impl Timer {
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Added => {
                "The time that gate added to an exchange: all except the wait for the backend."
            }
            Self::Authorize => {
                "From a request's head to its authorization, if the store was asked."
            }
            Self::FirstByte => "From a request's head to the first byte of the backend's answer.",
            Self::Backend => "From sending the request to the first byte of the backend's answer.",
            Self::Whole => "A whole exchange, including its bodies.",
        }
    }
}

/// One thread's durations.
#[derive(Debug)]
pub(super) struct Durations {
    counts: [Counter; BUCKETS],
    /// Nanoseconds.
    sum: Counter,
}

/// Written by one thread only: a load and a store, without a locked instruction.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, more: u64) {
        self.0
            .store(self.0.load(Relaxed).wrapping_add(more), Relaxed);
    }

    /// Subtracts from a gauge, which does not go below zero.
    pub(super) fn take(&self, less: u64) {
        self.set(self.0.load(Relaxed).saturating_sub(less));
    }

    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            counts: [const { Counter(AtomicU64::new(0)) }; BUCKETS],
            sum: Counter::default(),
        }
    }
}

impl Durations {
    pub(super) fn record(&self, value: Duration) {
        let nanoseconds = u64::try_from(value.as_nanos()).unwrap_or(u64::MAX);
        let bucket = Histogram::bucket(nanoseconds).min(BUCKETS - 1);
        if let Some(count) = self.counts.get(bucket) {
            count.add(1);
        }
        self.sum.add(nanoseconds);
    }

    /// Adds these durations to `into`.
    pub(super) fn pour(&self, into: &mut DurationHistogram) {
        for (bucket, count) in self.counts.iter().enumerate() {
            into.histogram.add(bucket, count.get());
        }
        into.sum = into.sum.wrapping_add(self.sum.get());
    }
}

/// The sum over all threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DurationHistogram {
    pub(crate) histogram: Histogram,
    /// Nanoseconds.
    pub(crate) sum: u64,
}
