//! What the relay has seen and done, and how exactly.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::lateness::Histogram;

/// Both directions since the path was built.
#[derive(Clone, Debug)]
pub struct Counters {
    /// From the client to the server.
    pub up: Tally,
    /// From the server to the client.
    pub down: Tally,
}

/// One direction. Only IP packets between client and server count.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Packets that entered. The n-th of them is packet number n.
    pub packets: u64,
    /// Their bytes, from the IP header on.
    pub bytes: u64,
    /// Packets that left at the other end.
    pub delivered: u64,
    /// Packets lost because they were told to be.
    pub dropped: u64,
    /// The same, by cause: `loss`, `queue full`, the name of a middlebox …
    pub causes: BTreeMap<&'static str, u64>,
    /// Packets lost because the relay could not keep up. When not 0, do not trust a measurement.
    pub missed: u64,
    /// Packets that entered longer than the path's MTU, and were not carried: somebody inside has joined segments.
    pub oversized: u64,
    /// How long after its time each packet was released.
    pub lateness: Lateness,
}

/// Percentiles to within 7 %; the maximum is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    pub p50: Duration,
    pub p99: Duration,
    pub max: Duration,
}

/// What a relay's thread writes, packet by packet.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) tally: Tally,
    pub(crate) lateness: Histogram,
}

impl Ledger {
    pub(crate) fn lose(&mut self, cause: &'static str) {
        self.tally.dropped += 1;
        *self.tally.causes.entry(cause).or_default() += 1;
    }

    pub(crate) fn read(&self) -> Tally {
        Tally {
            lateness: Lateness {
                p50: self.lateness.quantile(0.50),
                p99: self.lateness.quantile(0.99),
                max: self.lateness.max(),
            },
            ..self.tally.clone()
        }
    }
}
