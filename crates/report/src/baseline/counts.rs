//! The counts of one run, and the request that they belong to.

use roundtrip_model::{Exchange, HttpFacts, PhaseName, TlsFacts};

use super::CountChange;
use crate::Run;

/// The names of the counts, in the order of the file.
pub const COUNTS: [&str; 7] = [
    "round_trips",
    BODY,
    "connections",
    "handshakes",
    "full_handshakes",
    "bytes_sent",
    "bytes_received",
];

/// The round trips that can be counted in a body depend on when its packets arrive: if the client
/// or the path pauses, flights arrive together and look like one.
pub(super) const BODY: &str = "body_round_trips";

/// The values that two requests share if they are the same request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKey {
    pub url: String,
    pub method: String,
    /// The strategy that was asked for, as one word.
    pub strategy: String,
}

/// The counts of one request, in the order of [`COUNTS`]. A count that is `None` is not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestCounts {
    pub key: RequestKey,
    pub(super) values: [Option<u64>; COUNTS.len()],
}

impl RequestCounts {
    /// All hops of the run, added. A run without an answer has no counts.
    pub(super) fn from_run(run: &Run) -> Option<Self> {
        let first = run.hops.first()?;
        let http = first.http.as_ref();
        let key = RequestKey {
            url: first.url.clone(),
            method: http.map_or_else(|| "GET".to_owned(), |http| http.method.clone()),
            strategy: first.asked.to_string(),
        };
        let sum = |count: fn(&Exchange) -> u64| Some(run.hops.iter().map(count).sum());
        let values = [
            sum(|e| trips(e, |name| name != PhaseName::Body)),
            sum(|e| trips(e, |name| name == PhaseName::Body)),
            sum(|e| (!e.reused).into()),
            sum(|e| handshake(e).is_some().into()),
            sum(|e| handshake(e).is_some_and(|tls| !tls.resumed).into()),
            sum(|e| of(e, |t| t.bytes_sent, |h| h.request_bytes + h.uploaded)),
            sum(|e| of(e, |t| t.bytes_received, |h| h.header_bytes + h.downloaded)),
        ];
        Some(Self { key, values })
    }

    /// The smaller value of each count. This is what the request needs, so it is what a baseline is
    /// compared with.
    #[must_use]
    pub fn least(self, other: &Self) -> Self {
        self.joined(other, |_| false)
    }

    /// The values to keep as a baseline: the smaller of each count, but the larger of the round
    /// trips of a body, which chance can also lower.
    #[must_use]
    pub fn to_keep(self, other: &Self) -> Self {
        self.joined(other, |name| name == BODY)
    }

    fn joined(self, other: &Self, takes_larger: fn(&str) -> bool) -> Self {
        let mut values = self.values;
        for ((name, value), other) in COUNTS.iter().zip(&mut values).zip(other.values) {
            *value = if takes_larger(name) {
                (*value).max(other)
            } else {
                (*value).min(other)
            };
        }
        Self { values, ..self }
    }

    /// Each count that both have.
    pub(super) fn pairs(&self, now: &Self) -> impl Iterator<Item = CountChange> {
        let values = self.values.into_iter().zip(now.values);
        let pairs = COUNTS.into_iter().zip(values);
        pairs.filter_map(|(name, (was, is))| {
            let (was, is) = (was?, is?);
            Some(CountChange { name, was, is })
        })
    }
}

/// The round trips of those phases.
fn trips(exchange: &Exchange, counts: fn(PhaseName) -> bool) -> u64 {
    let phases = exchange.phases().into_iter();
    let counted = phases.filter(|phase| counts(phase.name));
    counted.map(|phase| u64::from(phase.round_trips)).sum()
}

/// The handshake of this exchange; `None` on a kept connection, whose handshake was earlier.
fn handshake(exchange: &Exchange) -> Option<&TlsFacts> {
    exchange.tls.as_ref().filter(|_| !exchange.reused)
}

/// Bytes of the TLS handshake over TCP, and of the message.
fn of(exchange: &Exchange, tls: fn(&TlsFacts) -> u64, http: fn(&HttpFacts) -> u64) -> u64 {
    handshake(exchange).map_or(0, tls) + exchange.http.as_ref().map_or(0, http)
}
