//! A policer: packets above its rate are dropped at once, without a queue that would slow the
//! sender gradually. Carriers police video like this; a burst of a tenth of a second passes before
//! drops begin.

use std::time::Duration;

use roundtrip_wire::packet::Packet;

use super::MiddleboxKind;
use super::filter::FilterHop;
use crate::direction::PerWay;
use crate::link::Rate;

const NAME: &str = "throttle";

/// The size of the bucket: the bytes of this time at the full rate, and at least an initial window
/// of TCP (RFC 6928 §2).
const BURST: Duration = Duration::from_millis(100);
const MIN_BURST_BYTES: f64 = 10.0 * 1500.0;

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "drops packets above RATE in each direction, after a burst of a tenth of a second; nothing queues",
    argument: Some("RATE"),
    make: |argument| {
        let bucket = TokenBucket::parse(argument.unwrap_or_default())?;
        let mut buckets = PerWay {
            up: bucket,
            down: bucket,
        };
        Ok(Box::new(FilterHop {
            cause: NAME,
            unwanted: move |packet: &Packet<'_>, way, at| {
                !buckets.get_mut(way).takes(packet.bytes().len(), at)
            },
        }))
    },
};

/// A token bucket: one token for each byte that may pass now.
#[derive(Clone, Copy, Debug)]
struct TokenBucket {
    /// The rate in bytes per second.
    rate: f64,
    room: f64,
    tokens: f64,
    filled: Duration,
}

impl TokenBucket {
    fn parse(text: &str) -> Result<Self, String> {
        let Rate::Constant(bits) = text.parse()? else {
            return Err(format!(
                "it needs a constant rate, such as {NAME}:5mbit; for a trace use the word rate"
            ));
        };
        let rate = bits as f64 / 8.0;
        let room = (rate * BURST.as_secs_f64()).max(MIN_BURST_BYTES);
        Ok(Self {
            rate,
            room,
            tokens: room,
            filled: Duration::ZERO,
        })
    }

    fn takes(&mut self, bytes: usize, at: Duration) -> bool {
        let gained = at.saturating_sub(self.filled).as_secs_f64() * self.rate;
        self.tokens = (self.tokens + gained).min(self.room);
        self.filled = self.filled.max(at);
        let fits = self.tokens >= bytes as f64;
        if fits {
            self.tokens -= bytes as f64;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Trial, datagram};
    use crate::direction::Direction;
    use crate::middlebox::Middlebox;

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        // A packet of 1000 bytes each millisecond is the rate; a hundred of them are the burst.
        let mut policer = Trial::parse("throttle:8mbit");
        let ip = datagram(Direction::Up, false, 443, &[7; 972]);
        for _ in 0..100 {
            policer.passes_untouched(Direction::Up, 0, &ip);
        }
        policer.loses(Direction::Up, 0, &ip, "throttle");
        policer.passes_untouched(Direction::Up, 1, &ip);
        policer.loses(Direction::Up, 1, &ip, "throttle");
        let passed = (2..1000).flat_map(|ms| [ms, ms]);
        let passed = passed.filter(|ms| policer.send(Direction::Up, *ms, &ip).1.is_empty());
        assert!((996..=999).contains(&passed.count()));
        // The other direction has another bucket.
        let back = datagram(Direction::Down, false, 443, &[7; 972]);
        policer.passes_untouched(Direction::Down, 1000, &back);
    }

    #[test]
    fn the_rate_must_be_valid() {
        for text in ["throttle", "throttle:5", "throttle:trace:/dev/null"] {
            assert!(text.parse::<Middlebox>().is_err(), "{text}");
        }
    }
}
