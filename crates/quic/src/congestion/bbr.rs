//! BBR version 3: the path's delivery rate and its shortest round trip decide, not the first loss.
//! draft-ietf-ccwg-bbr.
//!
//! This file owns the current state, and derives the window and the rate from it. The model of the
//! path belongs to `model`, the states to `machine` and `probes`, losses and marks to `losses`.

mod departures;
mod losses;
mod machine;
mod model;
mod probes;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::{Acknowledged, Controller, Lost, Window};
use crate::Time;
use departures::Departures;
use losses::{Losses, Undo};
use machine::{BbrState, FullPipe};
use model::{Model, UNBOUNDED};
use probes::{Cycle, ProbeRtt};

/// The gain that doubles the sending rate in each round of Startup. §5.3.1.
const STARTUP_PACING: f64 = 2.77;
/// The rate stays below the bandwidth by this factor, so that no queue persists. §5.6.2.
const PACING_MARGIN: f64 = 0.99;
/// The smallest window in datagrams. §5.6.4.
const MIN_WINDOW: u64 = 4;
/// The largest size of a burst in bytes, and how long it may last. §5.6.3.
const MAX_QUANTUM: u64 = 64 * 1024;
const QUANTUM: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Bbr {
    state: BbrState,
    model: Model,
    full: FullPipe,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    losses: Losses,
    undo: Undo,
    departures: Departures,
    rounds: RoundCounter,
    datagram: u64,
    initial: u64,
    window: u64,
    /// The window before the shortest round trip was probed, or before a loss.
    prior_window: u64,
    /// The pacing rate in bytes a second; `None` before the first sample.
    rate: Option<f64>,
    now: Time,
    in_flight: u64,
    delivered: u64,
    app_limited: bool,
    /// Whether the window held something back in the last round, and in this one.
    is_limited: [bool; 2],
    is_restarting: bool,
}

/// Round trips counted by packets: a round ends with the acknowledgement of a packet that was sent
/// after the round began. §5.5.1.
#[derive(Debug, Default)]
struct RoundCounter {
    count: u64,
    /// A packet ends this round if this much had been delivered when it left.
    end: u64,
    /// The current acknowledgement began a round.
    started: bool,
}

/// What one acknowledgement says about the path. §4.1.
struct PathSample {
    /// The delivery rate in bytes a second; 0 if there is no sample.
    rate: f64,
    /// Delivered between the departure of the newest acknowledged packet and now.
    delivered: u64,
    /// Delivered before that departure.
    prior: Option<u64>,
    app_limited: bool,
    in_flight_when_sent: u64,
    lost: u64,
    acknowledged: u64,
}

impl Bbr {
    pub(super) fn new(datagram: u16) -> Self {
        let initial = Window::new(datagram).bytes;
        Self {
            state: BbrState::Startup,
            model: Model::default(),
            full: FullPipe::default(),
            cycle: Cycle::default(),
            probe_rtt: ProbeRtt::default(),
            losses: Losses::default(),
            undo: Undo::default(),
            departures: Departures::default(),
            rounds: RoundCounter::default(),
            datagram: u64::from(datagram),
            initial,
            window: initial,
            prior_window: 0,
            rate: None,
            now: Time::ZERO,
            in_flight: 0,
            delivered: 0,
            app_limited: false,
            is_limited: [false; 2],
            is_restarting: false,
        }
    }

    fn sample(&self, told: &Acknowledged) -> PathSample {
        let rate = told.rate.filter(|rate| !rate.interval.is_zero());
        let Some(rate) = rate else {
            return PathSample {
                rate: 0.0,
                delivered: 0,
                prior: None,
                app_limited: true,
                in_flight_when_sent: 0,
                lost: 0,
                acknowledged: told.bytes,
            };
        };
        PathSample {
            rate: rate.bytes as f64 / rate.interval.as_secs_f64(),
            delivered: rate.bytes,
            prior: Some(told.delivered.saturating_sub(rate.bytes)),
            // Little was sent on purpose while the shortest round trip was probed.
            app_limited: rate.app_limited || self.probe_rtt.covers(told.sent),
            in_flight_when_sent: rate.in_flight_when_sent,
            lost: rate.lost,
            acknowledged: told.bytes,
        }
    }

    fn update_round(&mut self, told: &Acknowledged, sample: &PathSample) {
        let ends = |prior| prior >= self.rounds.end;
        self.rounds.started = sample.prior.map_or(told.round_ended, ends);
        if self.rounds.started {
            self.start_round();
            self.rounds.count += 1;
            self.cycle.rounds += 1;
            self.is_limited = [self.is_limited[1], false];
        }
    }

    fn start_round(&mut self) {
        self.rounds.end = self.delivered;
    }

    fn least_window(&self) -> u64 {
        MIN_WINDOW * self.datagram
    }

    fn is_limited(&self) -> bool {
        self.is_limited.contains(&true)
    }

    /// The path's capacity, multiplied by `gain`. §5.6.4.2.
    fn inflight(&self, bandwidth: f64, gain: f64) -> u64 {
        let product = self.model.product(bandwidth);
        product.map_or(self.initial, |product| (product as f64 * gain) as u64)
    }

    /// Raises `inflight` to the minimum that lets bursts keep the path busy.
    fn with_quantum(&self, inflight: u64) -> u64 {
        let quantum = self.rate.unwrap_or_default() * QUANTUM.as_secs_f64();
        let quantum = (quantum as u64).clamp(2 * self.datagram, MAX_QUANTUM.max(2 * self.datagram));
        let probing = if self.state == BbrState::Up {
            2 * self.datagram
        } else {
            0
        };
        inflight.max(quantum).max(self.least_window()) + probing
    }

    /// The desired number of bytes in flight, unless congestion has cut the window.
    fn target(&self) -> u64 {
        self.inflight(self.model.bandwidth, 1.0).min(self.window)
    }

    fn set_rate(&mut self, gain: f64) {
        let rate = gain * self.model.bandwidth * PACING_MARGIN;
        if rate > 0.0 && (self.full.reached || self.rate.is_none_or(|own| rate > own)) {
            self.rate = Some(rate);
        }
    }

    /// §5.6.4.6 and §5.6.4.7.
    fn set_window(&mut self, acknowledged: u64) {
        let wanted = self.inflight(self.model.bandwidth, self.state.window_gain());
        let most = self.with_quantum(wanted.saturating_add(self.model.extra_acked()));
        if self.full.reached {
            self.window = self.window.saturating_add(acknowledged).min(most);
        } else if self.window < most || self.delivered < self.initial {
            self.window = self.window.saturating_add(acknowledged);
        }
        self.window = self.window.max(self.least_window());
        if self.state == BbrState::ProbeRtt {
            self.window = self.window.min(self.probe_rtt.window);
        }
        let cap = match self.state {
            BbrState::Down | BbrState::Refill | BbrState::Up => self.model.inflight_long,
            BbrState::Cruise | BbrState::ProbeRtt => self.with_headroom(),
            BbrState::Startup | BbrState::Drain => UNBOUNDED,
        };
        let cap = cap.min(self.model.inflight_short).max(self.least_window());
        self.window = self.window.min(cap);
    }

    fn save_window(&mut self) {
        self.prior_window = if self.losses.in_episode || self.state == BbrState::ProbeRtt {
            self.prior_window.max(self.window)
        } else {
            self.window
        };
    }

    fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }
}

impl Controller for Bbr {
    fn on_sent(&mut self, now: Time, bytes: u64, in_flight_before: u64) {
        self.now = now;
        let in_flight = in_flight_before.saturating_add(bytes);
        if in_flight_before == 0 && self.delivered > 0 {
            self.restart();
        }
        let apart = self.model.min_rtt.unwrap_or_default() / 64;
        self.departures
            .note(now, in_flight, self.losses.total, apart);
        self.is_limited[1] |= in_flight + self.datagram > self.window;
    }

    fn on_acknowledged(&mut self, told: &Acknowledged) {
        let sample = self.sample(told);
        self.now = told.now;
        self.in_flight = told.in_flight;
        self.delivered = told.delivered;
        self.app_limited = told.app_limited;
        self.update_latest(&sample);
        self.update_round(told, &sample);
        self.model.see_rate(&sample);
        self.adapt_to_congestion();
        let window = self.window;
        self.model
            .see_aggregation(told, window, &self.rounds, self.full.reached);
        self.check_full_pipe(&sample);
        self.check_startup(&sample);
        self.check_drain();
        self.advance_cycle(&sample);
        self.update_min_rtt(told);
        self.check_probe_rtt();
        self.advance_latest(&sample);
        self.model.bound_bandwidth();
        self.set_rate(self.state.pacing_gain());
        self.set_window(told.bytes);
        self.departures.forget(told.sent, told.smoothed * 2);
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.lose(lost);
    }

    fn on_marked(&mut self, now: Time, sent: Time) {
        self.now = now;
        self.heed_mark(sent);
    }

    fn on_spurious(&mut self) {
        self.undo_losses();
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn pacing_rate(&self, smoothed: Duration) -> u64 {
        let first = STARTUP_PACING * self.window as f64 / smoothed.as_secs_f64().max(1e-6);
        (self.rate.unwrap_or(first) as u64).max(1)
    }

    fn set_datagram(&mut self, size: u16) {
        self.datagram = u64::from(size);
        self.window = self.window.max(self.least_window());
    }

    fn is_slow_start(&self) -> bool {
        self.state == BbrState::Startup
    }
}
