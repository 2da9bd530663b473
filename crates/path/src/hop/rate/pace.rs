//! Computes when the last bit of a packet has left.

use std::sync::Arc;
use std::time::Duration;

use crate::link::{QueueSize, Rate, Trace};

pub(super) enum LinkPace {
    /// A rate in bits per second.
    Constant(u64),
    Trace {
        trace: Arc<Trace>,
        start: Duration,
        /// The index of the transmission chance in use, and the bytes that it can still carry.
        chance: u64,
        left: usize,
    },
}

impl LinkPace {
    pub(super) fn new(rate: &Rate, start: Duration) -> Self {
        match rate {
            Rate::Constant(bits) => Self::Constant(*bits),
            Rate::Trace(trace) => Self::Trace {
                trace: Arc::clone(trace),
                start,
                chance: 0,
                left: Trace::CHANCE_BYTES,
            },
        }
    }

    /// The bytes that a queue of this size holds.
    pub(super) fn bytes(&self, room: QueueSize) -> u64 {
        let rate = match self {
            Self::Constant(bits) => *bits,
            Self::Trace { trace, .. } => trace.mean(),
        };
        match room {
            QueueSize::Bytes(bytes) => bytes,
            QueueSize::Time(time) => (u128::from(rate) * time.as_nanos() / 8_000_000_000) as u64,
        }
    }

    /// The time at which a packet of `bytes` bytes has left, if it can start at `from`.
    pub(super) fn finish(&mut self, from: Duration, bytes: usize) -> Duration {
        match self {
            Self::Constant(bits) => {
                let time = bytes as u128 * 8_000_000_000 / u128::from(*bits);
                from + Duration::from_nanos(time as u64)
            }
            Self::Trace {
                trace,
                start,
                chance,
                left,
            } => {
                let first = trace.first_from(from.saturating_sub(*start));
                if first > *chance {
                    (*chance, *left) = (first, Trace::CHANCE_BYTES);
                }
                let mut bytes = bytes;
                while bytes > *left {
                    bytes -= *left;
                    (*chance, *left) = (*chance + 1, Trace::CHANCE_BYTES);
                }
                *left -= bytes;
                (*start + trace.chance(*chance)).max(from)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_rate() {
        let mut pace = LinkPace::new(&"12mbit".parse().unwrap(), Duration::ZERO);
        let from = Duration::from_secs(1);
        assert_eq!(pace.finish(from, 1500), from + Duration::from_millis(1));
        assert_eq!(pace.bytes(QueueSize::Time(Duration::from_millis(2))), 3000);
        assert_eq!(pace.bytes(QueueSize::Bytes(7)), 7);
    }

    #[test]
    fn a_trace_repeats_its_chances_and_saves_none() {
        let trace = Trace::parse("1\n1\n5\n").unwrap();
        let start = Duration::from_secs(9);
        let mut pace = LinkPace::new(&Rate::Trace(Arc::new(trace)), start);
        let mut at = |from_us, bytes| {
            let finish = pace.finish(start + Duration::from_micros(from_us), bytes);
            finish.saturating_sub(start).as_millis()
        };
        // Two small packets share the first chance; a large one takes the second as well.
        assert_eq!([at(0, 500), at(0, 1000), at(0, 1500)], [1, 1, 1]);
        // The chance at 5 ms goes unused; the next one is a millisecond into the second round.
        assert_eq!(at(5500, 100), 6);
        // A packet larger than a chance takes several.
        assert_eq!(at(6500, 1501), 11);
    }
}
