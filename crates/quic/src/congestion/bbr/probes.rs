//! The two experiments: is there more bandwidth, and is the shortest round trip still the same?
//! §5.3.3 and §5.3.4.

use std::time::Duration;

use super::machine::BbrState;
use super::model::UNBOUNDED;
use super::{Bbr, PathSample};
use crate::Time;
use crate::congestion::Acknowledged;

/// §5.3.4: how long the probe keeps little in flight, and which fraction of the path's capacity
/// "little" is.
const PROBE_RTT_SPAN: Duration = Duration::from_millis(200);
const PROBE_RTT_GAIN: f64 = 0.5;
/// Bandwidth is probed two to three seconds after the previous probe. §5.3.3.5.
const MIN_WAIT: Duration = Duration::from_secs(2);
const MORE_WAIT_MILLIS: u64 = 1_000;

/// The part of the cycle that recent acknowledgements report on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Acks {
    #[default]
    Usual,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// One cycle of Down, Cruise, Refill and Up.
#[derive(Debug, Default)]
pub(super) struct Cycle {
    began: Time,
    wait: Duration,
    pub(super) rounds: u64,
    pub(super) acks: Acks,
    /// Whether the next losses say something about the probe.
    pub(super) is_sample: bool,
    pub(super) was_too_high: bool,
    pub(super) is_precautionary: bool,
    pub(super) drain_until: u64,
    up_rounds: u32,
    up_acknowledged: u64,
    /// The long-term bound grows by one datagram for each of this many bytes.
    up_step: Option<u64>,
}

impl Cycle {
    /// The time until the next probe has to differ from flow to flow, so it is derived from the
    /// time and the delivered bytes.
    pub(super) fn begin(&mut self, now: Time, delivered: u64) {
        let mixed = (now.0 ^ delivered.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let drawn = mixed >> 32;
        self.rounds = drawn & 1;
        self.wait = MIN_WAIT + Duration::from_millis((drawn >> 1) % MORE_WAIT_MILLIS);
        self.began = now;
        self.up_step = None;
        self.acks = Acks::Stopping;
    }

    pub(super) fn refill(&mut self) {
        self.up_rounds = 0;
        self.up_acknowledged = 0;
        self.is_precautionary = false;
        self.acks = Acks::Refilling;
    }

    pub(super) fn has_waited(&self, now: Time) -> bool {
        now > self.began.after(self.wait)
    }

    /// The bound grows by one datagram in the first round, then by 2, 4, 8 … §5.3.3.4.1.
    pub(super) fn raise_slope(&mut self, window: u64, datagram: u64) {
        let growth = 1_u64 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_step = Some((window / growth).max(datagram));
    }
}

#[derive(Debug, Default)]
pub(super) struct ProbeRtt {
    /// How much may be in flight.
    pub(super) window: u64,
    /// When the probe may end; `None` until few enough bytes are in flight.
    done: Option<Time>,
    is_round_done: bool,
    /// The beginning and end of the current probe, or else of the last.
    span: Option<(Time, Option<Time>)>,
}

impl ProbeRtt {
    /// Whether a packet that left at `sent` left during a probe.
    pub(super) fn covers(&self, sent: Time) -> bool {
        self.span
            .is_some_and(|(start, end)| sent >= start && end.is_none_or(|end| sent <= end))
    }
}

impl Bbr {
    /// Returns whether the state has changed. §5.3.3.6.
    pub(super) fn adapt_long_term(&mut self, sample: &PathSample) -> bool {
        if self.cycle.acks == Acks::Starting && self.rounds.started {
            self.cycle.acks = Acks::Feedback;
        }
        if self.cycle.acks == Acks::Stopping && self.rounds.started {
            self.cycle.is_sample = false;
            self.cycle.acks = Acks::Usual;
            if self.state.is_probe_bandwidth() {
                if !sample.app_limited {
                    self.model.advance_filter();
                }
                // The cautious probe did no harm, so a real one follows.
                if self.cycle.is_precautionary && !self.cycle.was_too_high {
                    self.refill();
                    return true;
                }
            }
        }
        if sample.is_too_lossy() || self.model.inflight_long == UNBOUNDED {
            return false;
        }
        let held = sample.in_flight_when_sent;
        self.model.inflight_long = self.model.inflight_long.max(held);
        if self.state == BbrState::Up {
            self.probe_upward(sample.acknowledged);
        }
        false
    }

    fn probe_upward(&mut self, acknowledged: u64) {
        if !self.is_limited() || self.window < self.model.inflight_long {
            return;
        }
        self.cycle.up_acknowledged += acknowledged;
        if let Some(step) = self.cycle.up_step {
            let steps = self.cycle.up_acknowledged / step.max(1);
            self.cycle.up_acknowledged -= steps * step;
            let more = steps.saturating_mul(self.datagram);
            self.model.inflight_long = self.model.inflight_long.saturating_add(more);
        }
        if self.rounds.started {
            self.cycle.raise_slope(self.window, self.datagram);
        }
    }

    pub(super) fn update_min_rtt(&mut self, told: &Acknowledged) {
        self.model.expire_min_rtt(told.now);
        if self.model.min_rtt_expired && self.state != BbrState::ProbeRtt {
            // Uses the earlier estimate: the next sample may have waited in a queue.
            let half = self.inflight(self.model.bandwidth, PROBE_RTT_GAIN);
            self.probe_rtt.window = half.max(self.least_window());
        }
        self.model.see_round_trip(told.now, told.sample);
    }

    pub(super) fn check_probe_rtt(&mut self) {
        let is_due = self.model.min_rtt_expired && !self.is_restarting;
        if is_due && self.state != BbrState::ProbeRtt {
            self.save_window();
            self.state = BbrState::ProbeRtt;
            self.probe_rtt.done = None;
            self.probe_rtt.span = Some((self.now, None));
            self.cycle.acks = Acks::Stopping;
            self.start_round();
        }
        if self.state == BbrState::ProbeRtt {
            self.handle_probe_rtt();
        }
        self.is_restarting = false;
    }

    fn handle_probe_rtt(&mut self) {
        if self.probe_rtt.done.is_some() {
            self.probe_rtt.is_round_done |= self.rounds.started;
            if self.probe_rtt.is_round_done {
                self.check_probe_rtt_done();
            }
        } else if self.in_flight <= self.probe_rtt.window {
            self.probe_rtt.done = Some(self.now.after(PROBE_RTT_SPAN));
            self.probe_rtt.is_round_done = false;
            self.start_round();
        }
    }

    fn check_probe_rtt_done(&mut self) {
        if self.probe_rtt.done.is_none_or(|done| self.now <= done) {
            return;
        }
        self.model.min_rtt_at = self.now;
        self.restore_window();
        if let Some((_, end)) = &mut self.probe_rtt.span {
            *end = Some(self.now);
        }
        self.model.forget_short_term();
        if self.full.reached {
            self.go_down();
            self.state = BbrState::Cruise;
        } else {
            self.state = BbrState::Startup;
        }
    }

    /// Called when nothing was in flight. Sends at the known rate of the path, because there is no
    /// queue to drain. §5.4.1.
    pub(super) fn restart(&mut self) {
        self.is_restarting = true;
        self.model.restart_aggregation(self.now);
        if self.state.is_probe_bandwidth() {
            self.set_rate(1.0);
        } else if self.state == BbrState::ProbeRtt {
            self.check_probe_rtt_done();
        }
    }
}
