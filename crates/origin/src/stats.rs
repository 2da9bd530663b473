//! What the server observed, to compare with the client's report.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use roundtrip_quic_tokio::Endpoint;
use serde::Serialize;
use serde_json::{Value, json};

/// The largest number of paths that [`PathCounts`] counts.
const MAX_COUNTED_PATHS: usize = 200_000;

/// Writes [`OriginCounters`] and its snapshot [`Stats`] from one list, so that neither misses a
/// counter.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters that grow while the origin runs. They are not updated together.
        #[derive(Debug, Default)]
        pub struct OriginCounters {
            $($(#[$doc])* pub(crate) $name: StatCounter,)*
            /// Our own engine counts clients that get no connection.
            endpoints: Mutex<Vec<Endpoint>>,
        }

        /// A snapshot of the counters.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl OriginCounters {
            pub fn snapshot(&self) -> Stats {
                let mut stats = Stats { $($name: self.$name.0.load(Relaxed),)* };
                let endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
                for endpoint in endpoints.iter() {
                    stats.quic_retries += endpoint.retries_sent();
                    stats.quic_tokens_taken += endpoint.tokens_taken();
                }
                stats
            }
        }
    };
}

counters! {
    /// TCP connections accepted, including those of the echo service.
    tcp_connections,
    /// TCP connections whose SYN carried data that was accepted (RFC 7413).
    fast_open_accepted,
    /// QUIC connections whose handshake began.
    quic_connections,
    /// QUIC connections whose handshake began and that have ended.
    quic_over,
    /// QUIC Initials answered with a Retry.
    quic_retries,
    /// QUIC connections whose client sent a valid address token from an earlier connection.
    quic_tokens_taken,
    /// TLS handshakes over TCP that completed.
    tls_handshakes,
    /// TLS handshakes over TCP that resumed a session.
    tls_resumed,
    /// TLS handshakes over TCP that needed a `HelloRetryRequest`.
    tls_hello_retries,
    /// TLS handshakes over TCP that failed.
    tls_failures,
    /// QUIC handshakes in which a ticket was used.
    quic_resumed,
    /// Key updates on QUIC connections that have ended; only with our own engine.
    quic_key_updates,
    /// Address changes of clients on QUIC connections that have ended; only with our own engine.
    quic_migrations,
    /// Bytes of early data accepted over TCP.
    early_data_bytes,
    /// Requests that arrived as early data.
    early_requests,
    /// Requests in all.
    requests,
    /// Requests over HTTP/1.0 and 1.1.
    h1_requests,
    /// Requests over HTTP/2.
    h2_requests,
    /// Requests over HTTP/3.
    h3_requests,
    /// Requests over HTTP/0.9, which QUIC carries for interoperability tests.
    hq_requests,
    /// Heads that were not HTTP, or exceeded the limits.
    bad_requests,
    /// Bytes of request bodies.
    body_bytes_received,
    /// Bytes of response bodies passed to the protocol.
    body_bytes_sent,
    /// Bytes that the echo returned.
    echo_bytes,
    /// Faults that were carried out.
    faults,
}

impl OriginCounters {
    pub(crate) fn add_endpoint(&self, endpoint: Endpoint) {
        let mut endpoints = self
            .endpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        endpoints.push(endpoint);
    }
}

#[derive(Debug, Default)]
pub(crate) struct StatCounter(AtomicU64);

impl StatCounter {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    pub(crate) fn increment(&self) {
        self.add(1);
    }
}

/// Counts how often each path below `/rdap/` was requested.
#[derive(Debug, Default)]
pub(crate) struct PathCounts(Mutex<BTreeMap<String, u32>>);

impl PathCounts {
    /// Counts a request; returns how many there were before.
    pub(crate) fn count(&self, path: &str) -> u32 {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MAX_COUNTED_PATHS && !counts.contains_key(path) {
            return 0;
        }
        let count = counts.entry(path.to_owned()).or_default();
        *count = count.saturating_add(1);
        *count - 1
    }

    /// The counts of all paths.
    pub(crate) fn to_json(&self) -> Value {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        json!(*counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_has_what_was_counted() {
        let counters = OriginCounters::default();
        counters.requests.increment();
        counters.early_data_bytes.add(517);
        let stats = counters.snapshot();
        assert_eq!((stats.requests, stats.early_data_bytes), (1, 517));
        assert_eq!(stats.faults, 0);
    }
}
