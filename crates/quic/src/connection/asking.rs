//! How often the peer is asked to acknowledge. draft-ietf-quic-ack-frequency.

use std::time::Duration;

use super::Connection;
use super::control::Ask;
use crate::Time;
use crate::config::AckPolicy;

/// Acknowledgements of one round trip, at least.
const EACH_ROUND: u32 = 4;
const SHARE_OF_WINDOW: u64 = 8;
/// No rarer, whatever the window is: the sender hears nothing meanwhile.
const MOST_PACKETS: u64 = 1024;
/// Gaps as long as what makes a packet lost are told at once. RFC 9002 §6.1.1.
const REORDERING: u64 = 3;

#[derive(Debug, Default)]
pub(super) struct Asks {
    /// The shortest delay that the peer can do; none where it knows nothing of the extension.
    least_delay: Option<Duration>,
    next: u64,
    last: Option<(Time, u64)>,
}

impl Asks {
    pub(super) fn set_known(&mut self, least_delay: Duration) {
        self.least_delay = Some(least_delay);
    }

    #[inline]
    pub(super) fn is_known(&self) -> bool {
        self.least_delay.is_some()
    }

    /// What to ask for, where that is no longer what was asked for.
    fn reconsider(&mut self, now: Time, packets: u64, smoothed: Duration) -> Option<Ask> {
        let least = self.least_delay?;
        if let Some((when, asked)) = self.last {
            let is_alike = packets < asked.saturating_mul(2) && asked < packets.saturating_mul(2);
            if is_alike || now.since(when) < smoothed {
                return None;
            }
        }
        self.last = Some((now, packets));
        let delay = (smoothed / EACH_ROUND).max(least);
        let sequence = self.next;
        self.next += 1;
        Some(Ask {
            sequence,
            // So many may come unacknowledged: the next one is answered.
            threshold: packets.saturating_sub(1),
            max_delay_us: u64::try_from(delay.as_micros()).unwrap_or(u64::MAX),
            reordering: REORDERING,
        })
    }
}

impl Connection {
    /// After each acknowledgement.
    pub(super) fn reconsider_asking(&mut self, now: Time) {
        if !self.asks.is_known() {
            return;
        }
        let packets = match self.config.ask_acks {
            AckPolicy::Unasked => return,
            AckPolicy::Every(packets) => packets.max(1),
            AckPolicy::EighthOfWindow => {
                let datagram = u64::from(self.recovery.datagram()).max(1);
                (self.recovery.window() / SHARE_OF_WINDOW / datagram).clamp(2, MOST_PACKETS)
            }
        };
        let smoothed = self.recovery.rtt().smoothed();
        if let Some(ask) = self.asks.reconsider(now, packets, smoothed) {
            self.control.ask = Some(ask);
            self.control.ask_waits = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(40);

    #[test]
    fn the_peer_is_asked_when_much_has_changed_and_once_a_round_trip() {
        let mut asks = Asks::default();
        assert_eq!(
            asks.reconsider(Time::ZERO, 4, RTT),
            None,
            "it cannot be asked"
        );
        asks.set_known(Duration::from_millis(1));
        let first = asks.reconsider(Time::ZERO, 4, RTT).unwrap();
        assert_eq!(
            (first.sequence, first.threshold, first.max_delay_us),
            (0, 3, 10_000)
        );
        let soon = Time::ZERO.after(RTT / 2);
        assert_eq!(asks.reconsider(soon, 100, RTT), None);
        let later = Time::ZERO.after(RTT);
        assert_eq!(asks.reconsider(later, 7, RTT), None);
        let second = asks.reconsider(later, 8, RTT).unwrap();
        assert_eq!((second.sequence, second.threshold), (1, 7));
        let fast = asks
            .reconsider(later.after(RTT), 4, Duration::from_micros(50))
            .unwrap();
        assert_eq!(fast.max_delay_us, 1000, "no shorter than the peer can");
    }
}
