//! The states: Startup, Drain, and the cycle of ProbeBW. §5.3.

use super::model::UNBOUNDED;
use super::probes::Acks;
use super::{Bbr, PathSample, STARTUP_PACING};

/// The bandwidth counts as growing if a round delivers faster by this factor. §5.3.1.2.
const GROWTH: f64 = 1.25;
/// The number of rounds without growth after which the pipe counts as full.
const FULL_ROUNDS: u32 = 3;
/// Losses end Startup only if a round had at least this many. §5.3.1.3.
const STARTUP_LOSSES: u64 = 6;
/// Marks end Startup after this many marked rounds in a row.
const STARTUP_MARKED_ROUNDS: u64 = 2;
/// The longest that Drain takes, in rounds. §5.3.2.
const DRAIN_ROUNDS: u64 = 3;
/// The fraction of the path's capacity that is left free for other flows. §5.3.3.6.
const HEADROOM: f64 = 0.15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BbrState {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl BbrState {
    /// §5.6.1.
    pub(super) fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_PACING,
            Self::Drain => 0.5,
            Self::Down => 0.9,
            Self::Up => 1.25,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
        }
    }

    pub(super) fn window_gain(self) -> f64 {
        match self {
            Self::Up => 2.25,
            Self::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }

    pub(super) fn is_probe_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether this state sends more on purpose, so that a loss says nothing new about the path.
    pub(super) fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// Finds out whether sending faster still delivers faster. §5.3.1.2.
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    bandwidth: f64,
    rounds: u32,
    pub(super) now: bool,
    /// Whether the pipe was full at least once.
    pub(super) reached: bool,
}

impl FullPipe {
    pub(super) fn reset(&mut self, bandwidth: f64) {
        self.bandwidth = bandwidth;
        self.rounds = 0;
        self.now = false;
    }
}

impl Bbr {
    pub(super) fn check_full_pipe(&mut self, sample: &PathSample) {
        if self.full.now || !self.rounds.started || sample.app_limited {
            return;
        }
        if sample.rate >= self.full.bandwidth * GROWTH {
            self.full.reset(sample.rate);
            return;
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= FULL_ROUNDS;
        self.full.reached |= self.full.now;
    }

    pub(super) fn check_startup(&mut self, sample: &PathSample) {
        if self.state == BbrState::Startup && self.losses.round_started && !self.full.reached {
            let is_lossy = self.losses.last_events >= STARTUP_LOSSES && sample.is_too_lossy();
            let is_marked = self.losses.marked_rounds >= STARTUP_MARKED_ROUNDS;
            if is_lossy || is_marked {
                self.undo.state = Some(BbrState::Startup);
                self.full.reached = true;
                let product = self.inflight(self.model.max_bandwidth(), 1.0);
                self.model.inflight_long = product.max(self.model.inflight_latest);
            }
        }
        if self.state == BbrState::Startup && self.full.reached {
            self.state = BbrState::Drain;
            self.cycle.drain_until = self.rounds.count + DRAIN_ROUNDS;
        }
    }

    pub(super) fn check_drain(&mut self) {
        if self.state != BbrState::Drain {
            return;
        }
        let full = self.with_quantum(self.inflight(self.model.bandwidth, 1.0));
        if self.in_flight <= full || self.rounds.count > self.cycle.drain_until {
            self.go_down();
        }
    }

    /// §5.3.3.6.
    pub(super) fn advance_cycle(&mut self, sample: &PathSample) {
        if !self.full.reached || self.adapt_long_term(sample) {
            return;
        }
        match self.state {
            BbrState::Down | BbrState::Cruise if self.is_time_to_probe() => self.refill(),
            BbrState::Down if self.is_time_to_cruise() => self.state = BbrState::Cruise,
            BbrState::Refill if self.rounds.started => {
                self.cycle.is_sample = true;
                self.go_up(sample);
            }
            BbrState::Up => self.consider_going_down(sample),
            _ => {}
        }
    }

    pub(super) fn go_down(&mut self) {
        self.losses.in_round = false;
        self.model.bandwidth_latest = 0.0;
        self.model.inflight_latest = 0;
        self.cycle.begin(self.now, self.delivered);
        self.start_round();
        self.state = BbrState::Down;
    }

    pub(super) fn refill(&mut self) {
        self.model.forget_short_term();
        self.cycle.refill();
        self.start_round();
        self.state = BbrState::Refill;
    }

    fn go_up(&mut self, sample: &PathSample) {
        self.cycle.acks = Acks::Starting;
        self.start_round();
        self.full.reset(sample.rate);
        self.state = BbrState::Up;
        self.cycle.raise_slope(self.window, self.datagram);
    }

    fn is_time_to_probe(&self) -> bool {
        let reno_rounds = (self.target() / self.datagram.max(1)).min(63);
        self.cycle.has_waited(self.now) || self.cycle.rounds >= reno_rounds
    }

    fn is_time_to_cruise(&self) -> bool {
        let full = self.with_quantum(self.inflight(self.model.max_bandwidth(), 1.0));
        self.in_flight <= self.with_headroom() && self.in_flight <= full
    }

    fn consider_going_down(&mut self, sample: &PathSample) {
        // The last probe lost too much: this one stops at the same level.
        let is_far = self.cycle.was_too_high && self.in_flight >= self.model.inflight_long;
        self.cycle.is_precautionary |= is_far;
        if is_far || self.full.now && !self.is_held_back() {
            self.cycle.was_too_high = false;
            self.go_down();
        } else if self.is_held_back() {
            self.full.reset(sample.rate);
        }
    }

    /// Whether the estimate of the path's capacity, and not the path itself, limits delivery.
    fn is_held_back(&self) -> bool {
        self.is_limited() && self.window >= self.model.inflight_long
    }

    pub(super) fn with_headroom(&self) -> u64 {
        let long = self.model.inflight_long;
        if long == UNBOUNDED {
            return UNBOUNDED;
        }
        let free = ((long as f64 * HEADROOM) as u64).max(self.datagram);
        long.saturating_sub(free).max(self.least_window())
    }
}
