//! How often the peer is asked to acknowledge. draft-ietf-quic-ack-frequency.

use std::time::Duration;

use roundtrip_wire::quic::{Frame, Pen};

use crate::Time;
use crate::config::AckPolicy;
use crate::recovery::Recovery;
use crate::sent::SentFrame;

/// The smallest number of acknowledgements in one round trip.
const MIN_PER_ROUND: u32 = 4;
/// No acknowledgement is asked for sooner than this, however short the round trip is: an answer
/// that leaves within this time carries it.
const MIN_DELAY: Duration = Duration::from_millis(5);
const SHARE_OF_WINDOW: u64 = 8;
/// The largest number of packets that one acknowledgement covers, whatever the window is: the
/// sender learns nothing meanwhile.
const MAX_PACKETS: u64 = 1024;
/// A gap of this many packets, which makes a packet count as lost, is reported at once. RFC 9002
/// §6.1.1.
const REORDERING: u64 = 3;

/// The settings that the peer is asked for. draft-ietf-quic-ack-frequency §4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ask {
    sequence: u64,
    /// The number of packets that may arrive before an acknowledgement is sent.
    threshold: u64,
    max_delay: Duration,
    reordering: u64,
}

#[derive(Debug)]
pub(super) struct AckFrequency {
    policy: AckPolicy,
    /// The peer's shortest possible delay; `None` if it does not support the extension.
    min_delay: Option<Duration>,
    next: u64,
    /// When the peer was last asked, and how many packets it was to acknowledge at once.
    last: Option<(Time, u64)>,
    ask: Option<Ask>,
    is_due: bool,
}

impl AckFrequency {
    pub(super) fn new(policy: AckPolicy) -> Self {
        Self {
            policy,
            min_delay: None,
            next: 0,
            last: None,
            ask: None,
            is_due: false,
        }
    }

    /// Takes the peer's `min_ack_delay`, whose presence shows that it supports the extension.
    pub(super) fn on_peer_min_delay(&mut self, min_delay: Duration) {
        self.min_delay = Some(min_delay);
    }

    #[inline]
    pub(super) fn is_supported(&self) -> bool {
        self.min_delay.is_some()
    }

    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.is_due
    }

    /// Called after each acknowledgement: asks for another frequency if the window has changed
    /// enough.
    pub(super) fn on_ack(&mut self, now: Time, recovery: &Recovery) {
        if !self.is_supported() {
            return;
        }
        let packets = match self.policy {
            AckPolicy::Unasked => return,
            AckPolicy::Every(packets) => packets.max(1),
            AckPolicy::EighthOfWindow => {
                let datagram = u64::from(recovery.datagram()).max(1);
                (recovery.window() / SHARE_OF_WINDOW / datagram).clamp(2, MAX_PACKETS)
            }
        };
        let smoothed = recovery.rtt().smoothed();
        if let Some(ask) = self.reconsider(now, packets, smoothed) {
            self.ask = Some(ask);
            self.is_due = true;
        }
    }

    /// Returns what to ask for, if it differs from what was asked for before.
    fn reconsider(&mut self, now: Time, packets: u64, smoothed: Duration) -> Option<Ask> {
        let min_delay = self.min_delay?;
        if let Some((when, asked)) = self.last {
            let is_alike = packets < asked.saturating_mul(2) && asked < packets.saturating_mul(2);
            if is_alike || now.since(when) < smoothed {
                return None;
            }
        }
        self.last = Some((now, packets));
        let sequence = self.next;
        self.next += 1;
        Some(Ask {
            sequence,
            // This many may come unacknowledged: the next one is answered.
            threshold: packets.saturating_sub(1),
            max_delay: (smoothed / MIN_PER_ROUND).max(MIN_DELAY).max(min_delay),
            reordering: REORDERING,
        })
    }

    pub(super) fn write(&mut self, pen: &mut Pen<'_>, items: &mut Vec<SentFrame>) {
        let Some(ask) = self.ask.filter(|_| self.is_due) else {
            return;
        };
        let frame = Frame::AckFrequency {
            sequence: ask.sequence,
            threshold: ask.threshold,
            max_delay_us: ask.max_delay_us(),
            reordering: ask.reordering,
        };
        if frame.write(pen) {
            self.is_due = false;
            items.push(SentFrame::AckFrequency(ask.sequence));
        }
    }

    /// The peer now obeys. Returns the longest that it delays an acknowledgement, if this was the
    /// last request.
    pub(super) fn on_acked(&self, sequence: u64) -> Option<Duration> {
        let ask = self.ask.filter(|ask| ask.sequence == sequence)?;
        Some(Duration::from_micros(ask.max_delay_us()))
    }

    /// Handles a lost request: it is sent again if no newer one was sent.
    /// draft-ietf-quic-ack-frequency §4.
    pub(super) fn on_lost(&mut self, sequence: u64) {
        self.is_due |= self.ask.is_some_and(|ask| ask.sequence == sequence);
    }
}

impl Ask {
    fn max_delay_us(&self) -> u64 {
        u64::try_from(self.max_delay.as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(40);

    #[test]
    fn the_peer_is_asked_when_much_has_changed_and_once_a_round_trip() {
        let mut asks = AckFrequency::new(AckPolicy::EighthOfWindow);
        assert_eq!(
            asks.reconsider(Time::ZERO, 4, RTT),
            None,
            "it cannot be asked"
        );
        asks.on_peer_min_delay(Duration::from_millis(1));
        let first = asks.reconsider(Time::ZERO, 4, RTT).unwrap();
        assert_eq!(
            (first.sequence, first.threshold, first.max_delay_us()),
            (0, 3, 10_000)
        );
        let soon = Time::ZERO.after(RTT / 2);
        assert_eq!(asks.reconsider(soon, 100, RTT), None);
        let later = Time::ZERO.after(RTT);
        assert_eq!(asks.reconsider(later, 7, RTT), None);
        let second = asks.reconsider(later, 8, RTT).unwrap();
        assert_eq!((second.sequence, second.threshold), (1, 7));
        let fast = Duration::from_micros(50);
        let third = asks.reconsider(later.after(RTT), 4, fast).unwrap();
        assert_eq!(third.max_delay, MIN_DELAY);
        let slow = MIN_DELAY * 3;
        asks.on_peer_min_delay(slow);
        let fourth = asks.reconsider(later.after(2 * RTT), 8, fast).unwrap();
        assert_eq!(fourth.max_delay, slow, "no shorter than the peer can");
    }
}
