//! How fast the path delivers: the rate sample of each acknowledgement. draft-ietf-ccwg-bbr §4.1.

use crate::Time;
use crate::congestion::RateSample;
use crate::sent::SentBurst;

#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// All bytes delivered, and when the last of them were.
    pub(super) delivered: u64,
    delivered_at: Time,
    acked_sent_at: Time,
    pub(super) lost: u64,
    /// Samples are limited by the application until this many bytes have been delivered.
    app_limited_until: u64,
    round_end: u64,
}

impl Delivery {
    /// Notes that a burst begins. If nothing is in flight, the measurement starts again.
    pub(super) fn on_burst(&mut self, now: Time, in_flight: u64) {
        if in_flight == 0 {
            self.delivered_at = now;
            self.acked_sent_at = now;
        }
    }

    pub(super) fn burst(&self, now: Time, in_flight: u64) -> SentBurst {
        SentBurst {
            time: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            acked_sent_at: self.acked_sent_at,
            lost: self.lost,
            in_flight,
            app_limited: self.app_limited_until > self.delivered,
            is_withheld: false,
        }
    }

    pub(super) fn set_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// `bytes` arrived; the newest of them left with `burst`. Returns whether a round has ended,
    /// and the rate.
    pub(super) fn on_delivered(
        &mut self,
        now: Time,
        bytes: u64,
        burst: &SentBurst,
    ) -> (bool, Option<RateSample>) {
        self.delivered += bytes;
        self.delivered_at = now;
        self.acked_sent_at = burst.time;
        let round_ended = burst.delivered >= self.round_end;
        if round_ended {
            self.round_end = self.delivered;
        }
        let sending = burst.time.since(burst.acked_sent_at);
        let interval = sending.max(now.since(burst.delivered_at));
        let sample = (!interval.is_zero()).then(|| RateSample {
            bytes: self.delivered - burst.delivered,
            interval,
            app_limited: burst.app_limited,
            in_flight_when_sent: burst.in_flight,
            lost: self.lost.saturating_sub(burst.lost),
        });
        (round_ended, sample)
    }
}
