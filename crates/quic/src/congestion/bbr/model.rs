//! The estimates about the path: its bandwidth, its round-trip time, and its capacity. §5.5.

use std::time::Duration;

use super::{PathSample, RoundCounter};
use crate::Time;
use crate::congestion::Acknowledged;

pub(super) const UNBOUNDED: u64 = u64::MAX;
/// How long the shortest round trip remains valid. §5.5.7.2.
const MIN_RTT_SPAN: Duration = Duration::from_secs(10);
/// Aggregation is remembered for twice this many rounds. §5.5.9.
const EXTRA_ROUNDS: u64 = 5;

#[derive(Debug)]
pub(super) struct Model {
    /// The highest bandwidth of the last cycle, and of this one.
    peaks: [f64; 2],
    /// The bandwidth that all bounds allow, in bytes a second.
    pub(super) bandwidth: f64,
    /// The bandwidth that recent losses allow; it is forgotten before each probe.
    pub(super) bandwidth_short: f64,
    pub(super) inflight_short: u64,
    /// The most bytes in flight that the path has held without losing too many.
    pub(super) inflight_long: u64,
    /// The values of the last round.
    pub(super) bandwidth_latest: f64,
    pub(super) inflight_latest: u64,
    pub(super) min_rtt: Option<Duration>,
    pub(super) min_rtt_at: Time,
    pub(super) min_rtt_expired: bool,
    aggregation: Aggregation,
}

/// Acknowledgements that come in batches. §5.5.9.
#[derive(Debug, Default)]
struct Aggregation {
    since: Time,
    delivered: u64,
    extra: [u64; 2],
    rounds: u64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            peaks: [0.0; 2],
            bandwidth: 0.0,
            bandwidth_short: f64::INFINITY,
            inflight_short: UNBOUNDED,
            inflight_long: UNBOUNDED,
            bandwidth_latest: 0.0,
            inflight_latest: 0,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            min_rtt_expired: false,
            aggregation: Aggregation::default(),
        }
    }
}

impl Model {
    pub(super) fn max_bandwidth(&self) -> f64 {
        let [last, this] = self.peaks;
        last.max(this)
    }

    /// §5.5.5. A sample that the application limited counts only if it is faster.
    pub(super) fn see_rate(&mut self, sample: &PathSample) {
        if sample.rate >= self.max_bandwidth() || !sample.app_limited {
            let [_, this] = &mut self.peaks;
            *this = this.max(sample.rate);
        }
    }

    /// §5.5.6: handles the end of a cycle.
    pub(super) fn advance_filter(&mut self) {
        let [_, this] = self.peaks;
        if this > 0.0 {
            self.peaks = [this, 0.0];
        }
    }

    pub(super) fn bound_bandwidth(&mut self) {
        self.bandwidth = self.max_bandwidth().min(self.bandwidth_short);
    }

    pub(super) fn forget_short_term(&mut self) {
        self.bandwidth_short = f64::INFINITY;
        self.inflight_short = UNBOUNDED;
    }

    /// The capacity of a path with this bandwidth; `None` before its round trip is known.
    pub(super) fn product(&self, bandwidth: f64) -> Option<u64> {
        let rtt = self.min_rtt?.as_secs_f64();
        Some((bandwidth * rtt) as u64)
    }

    pub(super) fn expire_min_rtt(&mut self, now: Time) {
        self.min_rtt_expired = self.min_rtt.is_some() && now > self.min_rtt_at.after(MIN_RTT_SPAN);
    }

    pub(super) fn see_round_trip(&mut self, now: Time, sample: Option<Duration>) {
        let Some(sample) = sample else {
            return;
        };
        if self.min_rtt_expired || self.min_rtt.is_none_or(|least| sample < least) {
            self.min_rtt = Some(sample);
            self.min_rtt_at = now;
        }
    }

    pub(super) fn see_aggregation(
        &mut self,
        told: &Acknowledged,
        window: u64,
        rounds: &RoundCounter,
        is_full: bool,
    ) {
        let own = &mut self.aggregation;
        if rounds.started {
            own.rounds += 1;
            if own.rounds >= if is_full { EXTRA_ROUNDS } else { 1 } {
                own.rounds = 0;
                own.extra = [own.extra[1], 0];
            }
        }
        let span = told.now.since(own.since).as_secs_f64();
        let mut expected = (self.bandwidth * span) as u64;
        if own.delivered <= expected {
            own.delivered = 0;
            own.since = told.now;
            expected = 0;
        }
        own.delivered += told.bytes;
        let extra = own.delivered.saturating_sub(expected).min(window);
        own.extra[1] = own.extra[1].max(extra);
    }

    pub(super) fn restart_aggregation(&mut self, now: Time) {
        self.aggregation.since = now;
        self.aggregation.delivered = 0;
    }

    pub(super) fn extra_acked(&self) -> u64 {
        let [last, this] = self.aggregation.extra;
        last.max(this)
    }
}
