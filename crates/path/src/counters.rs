//! Counts the packets that the relay carried and lost, and how late it was.

use std::collections::BTreeMap;
use std::time::Duration;

use roundtrip_model::Histogram;

/// Counters of both directions since the path was built.
#[derive(Clone, Debug, Default)]
pub struct PathCounters {
    /// The counters of packets from the client to the server.
    pub up: DirectionCounters,
    /// The counters of packets from the server to the client.
    pub down: DirectionCounters,
}

/// Counters of one direction. Only IP packets between client and server are counted.
#[derive(Clone, Debug, Default)]
pub struct DirectionCounters {
    /// The number of packets that entered. The n-th packet has number n.
    pub packets: u64,
    /// The bytes of these packets, IP headers included.
    pub bytes: u64,
    /// Packets that left the path at the other end.
    pub delivered: u64,
    /// Packets that the path lost on purpose.
    pub dropped: u64,
    /// The dropped packets by cause: `loss`, `queue full`, the name of a middlebox …
    pub causes: BTreeMap<&'static str, u64>,
    /// Packets lost because the relay could not keep up. Unless this is 0, do not trust a
    /// measurement.
    pub missed: u64,
    /// Packets longer than the path's MTU, which were not carried: something inside the path joined
    /// segments.
    pub oversized: u64,
    /// How late each packet was released.
    pub lateness: Lateness,
}

/// The lateness beyond which times measured across the path include the relay's own delay.
const LATE_RELEASE: Duration = Duration::from_millis(1);

impl PathCounters {
    /// Why times measured across this path cannot be trusted; `None` if the relay kept up.
    pub fn fell_behind(&self) -> Option<String> {
        let ways = [("up", &self.up), ("down", &self.down)];
        let faults = ways.into_iter().flat_map(|(way, tally)| {
            let missed =
                (tally.missed > 0).then(|| format!("{} packets missed {way}", tally.missed));
            let oversized = (tally.oversized > 0)
                .then(|| format!("{} packets longer than the MTU {way}", tally.oversized));
            let late = tally.is_late().then(|| {
                let p99 = tally.lateness.p99.as_secs_f64() * 1e3;
                format!("released up to {p99:.1} ms late (p99) {way}")
            });
            [missed, oversized, late].into_iter().flatten()
        });
        let faults: Vec<String> = faults.collect();
        (!faults.is_empty()).then(|| faults.join(", "))
    }
}

impl DirectionCounters {
    /// Whether the relay had more packets than it could carry; joined segments are a different
    /// fault.
    pub fn is_overloaded(&self) -> bool {
        self.missed > 0 || self.is_late()
    }

    fn is_late(&self) -> bool {
        self.lateness.p99 > LATE_RELEASE
    }
}

/// Lateness of released packets. Percentiles are within 7 %; the maximum is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    pub p50: Duration,
    pub p99: Duration,
    pub max: Duration,
}

/// The counters of one direction as the relay's thread updates them, packet by packet.
#[derive(Debug, Default)]
pub(crate) struct DirectionLedger {
    pub(crate) tally: DirectionCounters,
    pub(crate) lateness: Histogram,
}

impl DirectionLedger {
    pub(crate) fn lose(&mut self, cause: &'static str) {
        self.tally.dropped += 1;
        *self.tally.causes.entry(cause).or_default() += 1;
    }

    pub(crate) fn read(&self) -> DirectionCounters {
        DirectionCounters {
            lateness: Lateness {
                p50: self.lateness.quantile(0.50),
                p99: self.lateness.quantile(0.99),
                max: self.lateness.max(),
            },
            ..self.tally.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(change: impl FnOnce(&mut DirectionCounters)) -> Option<String> {
        let mut counters = PathCounters {
            up: DirectionCounters::default(),
            down: DirectionCounters::default(),
        };
        change(&mut counters.down);
        counters.fell_behind()
    }

    #[test]
    fn intended_losses_are_not_a_fault() {
        assert_eq!(judged(|tally| tally.dropped = 9), None);
        let punctual =
            |tally: &mut DirectionCounters| tally.lateness.p99 = Duration::from_micros(999);
        assert_eq!(judged(punctual), None);
    }

    #[test]
    fn overload_differs_from_oversized_packets() {
        let overloaded = |change: fn(&mut DirectionCounters)| {
            let mut counters = DirectionCounters::default();
            change(&mut counters);
            counters.is_overloaded()
        };
        assert!(overloaded(|tally| tally.missed = 1));
        assert!(overloaded(
            |tally| tally.lateness.p99 = Duration::from_millis(2)
        ));
        assert!(!overloaded(|tally| tally.oversized = 1));
    }

    #[test]
    fn each_fault_is_reported_with_its_direction() {
        let missed = judged(|tally| tally.missed = 3);
        assert_eq!(missed.as_deref(), Some("3 packets missed down"));
        let oversized = judged(|tally| tally.oversized = 1).unwrap();
        assert!(oversized.contains("MTU"), "{oversized}");
        let late = judged(|tally| tally.lateness.p99 = Duration::from_micros(1600)).unwrap();
        assert!(late.contains("1.6 ms late"), "{late}");
    }
}
