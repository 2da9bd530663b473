//! One thread's counters. That thread writes them, and the admin thread reads them.

use std::sync::Arc;
use std::time::Instant;

use super::entry::NO_UPSTREAM;
use super::timer::{Counter, Durations};
use super::vocabulary::StatusClass;
use super::{
    Avoided, Bytes, Carried, ConnectionStart, Counted, Early, Entry, Gauge, Known, LabelValue,
    Limit, Link, LoginEvent, Outcome, Pool, Protocol, QuicStray, Reason, Remedy, Security,
    SingleUse, Snapshot, Spans, Store, Streams, Timer, TlsHandshake,
};

/// One thread's counters. That thread and the admin thread share it. No two ledgers share a cache
/// line.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Ledger {
    counters: [Counter; SLOTS],
    gauges: [Counter; Gauge::COUNT],
    timers: [Durations; Timer::COUNT],
}

/// All threads' ledgers.
#[derive(Debug, Clone)]
pub(crate) struct Ledgers(Arc<[Arc<Ledger>]>);

/// An exchange, by the labels of requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestCounter {
    pub(crate) protocol: Protocol,
    pub(crate) class: StatusClass,
    pub(crate) outcome: Outcome,
}

/// A connection, by its protocol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connected(pub(crate) Protocol);

/// A fast-open connection whose first data arrived in the SYN.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FastOpened;

impl Counted for RequestCounter {
    fn slot(self) -> usize {
        let row = self.protocol.index() * StatusClass::COUNT + self.class.index();
        row * Outcome::COUNT + self.outcome.index()
    }
}

/// The counters of each set follow those of the set before.
macro_rules! places {
    ($before:expr; $($set:ident,)+) => { places!(@ $before; $($set,)+); };
    (@ $before:expr; $set:ident, $($rest:ident,)*) => {
        impl Counted for $set {
            fn slot(self) -> usize {
                $before + self.index()
            }
        }
        places!(@ $before + $set::COUNT; $($rest,)*);
    };
    (@ $before:expr;) => { const SINGLES: usize = $before; };
}

places! {
    Protocol::COUNT * StatusClass::COUNT * Outcome::COUNT;
    Reason, Limit, Early, Known, TlsHandshake, Link, Carried, Pool, Store, SingleUse, QuicStray, Streams, Bytes, Remedy, Avoided, LoginEvent, Spans,
}

impl Counted for Connected {
    fn slot(self) -> usize {
        SINGLES + self.0.index()
    }
}

impl Counted for FastOpened {
    fn slot(self) -> usize {
        SINGLES + Protocol::COUNT
    }
}

const SLOTS: usize = SINGLES + Protocol::COUNT + 1;

impl Default for Ledger {
    fn default() -> Self {
        Self {
            counters: std::array::from_fn(|_| Counter::default()),
            gauges: std::array::from_fn(|_| Counter::default()),
            timers: std::array::from_fn(|_| Durations::default()),
        }
    }
}

impl Ledger {
    pub(crate) fn count(&self, what: impl Counted) {
        self.add(what, 1);
    }

    pub(crate) fn add(&self, what: impl Counted, more: u64) {
        if let Some(counter) = self.counters.get(what.slot()) {
            counter.add(more);
        }
    }

    /// Records an exchange that has ended.
    pub(crate) fn record(&self, entry: &Entry, ended: Instant) {
        self.count(RequestCounter {
            protocol: entry.protocol,
            class: StatusClass::from_status(entry.status),
            outcome: entry.outcome,
        });
        self.add(Bytes::Up, entry.bytes_up);
        self.add(Bytes::Down, entry.bytes_down);
        self.time(entry, ended);
        if let Some(reason) = entry.reason {
            self.count(reason);
        }
        self.record_session(entry);
        self.record_early(entry);
        self.record_upstream(entry);
    }

    fn time(&self, entry: &Entry, ended: Instant) {
        let since = |end: Instant| end.saturating_duration_since(entry.began);
        let [added, authorize, first_byte, backend, whole] = &self.timers;
        added.record(entry.added(ended));
        whole.record(since(ended));
        if let Some(at) = entry.authorized {
            authorize.record(since(at));
        }
        if let Some(at) = entry.first_byte {
            first_byte.record(since(at));
            backend.record(entry.waited(at));
        }
    }

    fn record_session(&self, entry: &Entry) {
        let Some(known) = entry.known else { return };
        self.count(known);
        // One query to the store is one round trip.
        if known == Known::Near {
            self.count(Remedy::NearCache);
        }
    }

    fn record_early(&self, entry: &Entry) {
        let Some(early) = entry.early else { return };
        self.count(early);
        if early == Early::Passed {
            self.count(Remedy::EarlyData);
        }
    }

    fn record_upstream(&self, entry: &Entry) {
        if entry.retried {
            self.count(Pool::Retried);
        }
        if entry.upstream == NO_UPSTREAM {
            return;
        }
        if !entry.reused {
            return self.count(Carried::New);
        }
        self.count(Carried::Reused);
        self.count(Avoided::UpstreamTcp);
        // This counts like `model::Strategy`: one for TCP, one more for TLS 1.3.
        self.add(Remedy::UpstreamReuse, 1 + u64::from(entry.upstream_secure));
        if entry.upstream_secure {
            self.count(Avoided::UpstreamTls);
        }
    }

    /// Records a client's connection that may send requests.
    pub(crate) fn connection(&self, arrival: ConnectionStart) {
        self.count(Connected(arrival.protocol));
        if arrival.fast_open {
            self.count(FastOpened);
            self.count(Remedy::FastOpen);
        }
        let Security::Tls {
            handshake,
            two_trips,
        } = arrival.security
        else {
            return;
        };
        self.count(handshake);
        if matches!(handshake, TlsHandshake::Resumed | TlsHandshake::Early) {
            self.count(Avoided::ClientTls);
            self.add(Remedy::Resumption, u64::from(two_trips));
        }
    }

    /// Raises a gauge until the result is dropped.
    pub(crate) fn hold(&self, gauge: Gauge) -> GaugeGuard<'_> {
        self.raise(gauge);
        GaugeGuard {
            ledger: self,
            gauge,
        }
    }

    pub(crate) fn raise(&self, gauge: Gauge) {
        if let Some(counter) = self.gauges.get(gauge.index()) {
            counter.add(1);
        }
    }

    pub(crate) fn lower(&self, gauge: Gauge) {
        if let Some(counter) = self.gauges.get(gauge.index()) {
            counter.take(1);
        }
    }

    pub(crate) fn set(&self, gauge: Gauge, value: u64) {
        if let Some(counter) = self.gauges.get(gauge.index()) {
            counter.set(value);
        }
    }

    fn pour(&self, into: &mut Snapshot) {
        let sum = |to: &mut Vec<u64>, from: &[Counter]| {
            to.resize(from.len(), 0);
            to.iter_mut()
                .zip(from)
                .for_each(|(to, from)| *to = to.wrapping_add(from.get()));
        };
        sum(&mut into.counters, &self.counters);
        sum(&mut into.gauges, &self.gauges);
        for (to, from) in into.timers.iter_mut().zip(&self.timers) {
            from.pour(to);
        }
    }
}

impl Ledgers {
    /// Ledgers for this number of threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self((0..threads.max(1)).map(|_| Arc::default()).collect())
    }

    /// The ledger of a thread; threads beyond the last get one that is never read.
    pub(crate) fn ledger(&self, thread: usize) -> Arc<Ledger> {
        self.0.get(thread).cloned().unwrap_or_default()
    }

    /// The sum over all threads, at about this moment.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for ledger in self.0.iter() {
            ledger.pour(&mut snapshot);
        }
        snapshot
    }
}

/// Lowers a gauge when it is dropped.
#[derive(Debug)]
pub(crate) struct GaugeGuard<'a> {
    ledger: &'a Ledger,
    gauge: Gauge,
}

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.ledger.lower(self.gauge);
    }
}

#[cfg(test)]
mod tests;
