//! Interprets losses and marks: the probe that caused them was too large, or the path has become
//! slower. §5.5.10.

use super::machine::BbrState;
use super::model::UNBOUNDED;
use super::{Bbr, PathSample};
use crate::Time;
use crate::congestion::Lost;

/// The largest part of what is in flight that may be lost. §2.4.
const THRESHOLD: f64 = 0.02;
/// The smallest factor by which a round with losses reduces the window: the same as CUBIC's.
const BETA: f64 = 0.7;
/// The factor by which a round with marks reduces the window. The draft says nothing about ECN;
/// this is from RFC 8511 §3.
const MARKED_BETA: f64 = 0.85;

#[derive(Debug, Default)]
pub(super) struct Losses {
    /// The lost bytes of the whole connection.
    pub(super) total: u64,
    pub(super) in_round: bool,
    /// Whether losses have begun, and no round since then was without any.
    pub(super) in_episode: bool,
    is_marked: bool,
    round_end: u64,
    pub(super) round_started: bool,
    events: u64,
    /// The number of losses in the round that has just ended.
    pub(super) last_events: u64,
    /// How many rounds in a row had marks.
    pub(super) marked_rounds: u64,
}

/// The state to restore if the losses prove to be spurious. §5.5.11.
#[derive(Debug)]
pub(super) struct Undo {
    /// The state that the losses ended.
    pub(super) state: Option<BbrState>,
    bandwidth_short: f64,
    inflight_short: u64,
    inflight_long: u64,
}

impl Default for Undo {
    fn default() -> Self {
        Self {
            state: None,
            bandwidth_short: 0.0,
            inflight_short: 0,
            inflight_long: 0,
        }
    }
}

impl PathSample {
    pub(super) fn is_too_lossy(&self) -> bool {
        self.lost as f64 > self.in_flight_when_sent as f64 * THRESHOLD
    }
}

impl Bbr {
    pub(super) fn update_latest(&mut self, sample: &PathSample) {
        let model = &mut self.model;
        model.bandwidth_latest = model.bandwidth_latest.max(sample.rate);
        model.inflight_latest = model.inflight_latest.max(sample.delivered);
        let losses = &mut self.losses;
        losses.round_started = sample.prior.is_some_and(|prior| prior >= losses.round_end);
        if losses.round_started {
            losses.in_episode &= losses.in_round;
            losses.round_end = self.delivered;
            losses.last_events = std::mem::take(&mut losses.events);
            losses.marked_rounds = if losses.is_marked {
                losses.marked_rounds + 1
            } else {
                0
            };
        }
    }

    /// Called once a round. A sender that is faster on purpose handles its losses elsewhere.
    pub(super) fn adapt_to_congestion(&mut self) {
        if !self.losses.round_started {
            return;
        }
        if self.losses.in_round && !self.state.is_accelerating() {
            self.lower_bounds();
        }
        self.losses.in_round = false;
        self.losses.is_marked = false;
    }

    fn lower_bounds(&mut self) {
        let model = &mut self.model;
        if model.bandwidth_short.is_infinite() {
            model.bandwidth_short = model.max_bandwidth();
        }
        if model.inflight_short == UNBOUNDED {
            model.inflight_short = self.window;
        }
        let held = model.inflight_short as f64;
        model.bandwidth_short = model.bandwidth_latest.max(model.bandwidth_short * BETA);
        model.inflight_short = model.inflight_latest.max((held * BETA) as u64);
        if self.losses.is_marked {
            // Marked packets are still delivered.
            let left = (held * MARKED_BETA) as u64;
            model.inflight_short = model.inflight_short.min(left);
        }
    }

    pub(super) fn advance_latest(&mut self, sample: &PathSample) {
        if self.losses.round_started {
            self.model.bandwidth_latest = sample.rate;
            self.model.inflight_latest = sample.delivered;
        }
    }

    pub(super) fn lose(&mut self, lost: &Lost) {
        self.now = lost.now;
        self.in_flight = lost.in_flight;
        self.losses.total += lost.bytes;
        self.note_congestion();
        // The number of holes is not known: several packets lost at once count as two at most.
        self.losses.events += (lost.bytes / self.datagram.max(1)).clamp(1, 2);
        if let Some(departure) = self
            .departures
            .at(lost.sent)
            .filter(|_| self.cycle.is_sample)
        {
            let since = self.losses.total.saturating_sub(departure.lost);
            if since as f64 > departure.in_flight as f64 * THRESHOLD {
                let held = inflight_at_loss(departure.in_flight, since, lost.bytes);
                self.on_too_high(held);
            }
        }
        if lost.persistent {
            self.save_window();
            // RFC 9002 §7.6.2.
            self.window = (lost.in_flight + self.datagram).min(2 * self.datagram);
        }
    }

    pub(super) fn heed_mark(&mut self, sent: Time) {
        self.note_congestion();
        self.losses.is_marked = true;
        if let Some(departure) = self.departures.at(sent).filter(|_| self.cycle.is_sample) {
            self.on_too_high(departure.in_flight);
        }
    }

    fn note_congestion(&mut self) {
        if self.losses.in_round {
            return;
        }
        if !self.losses.in_episode {
            self.save_window();
            self.undo = Undo {
                state: None,
                bandwidth_short: self.model.bandwidth_short,
                inflight_short: self.model.inflight_short,
                inflight_long: self.model.inflight_long,
            };
        }
        self.losses.round_end = self.delivered;
        self.losses.in_round = true;
        self.losses.in_episode = true;
    }

    /// Reacts to a probe that has put too much in flight, once for each probe.
    fn on_too_high(&mut self, held: u64) {
        self.cycle.was_too_high = true;
        self.cycle.is_sample = false;
        if !self.app_limited {
            let least = (self.target() as f64 * BETA) as u64;
            self.model.inflight_long = held.max(least);
        }
        if self.state == BbrState::Up {
            self.undo.state = Some(BbrState::Up);
            self.go_down();
        }
    }

    pub(super) fn undo_losses(&mut self) {
        self.restore_window();
        self.losses.in_round = false;
        self.full.reset(0.0);
        let (model, undo) = (&mut self.model, &mut self.undo);
        model.bandwidth_short = model.bandwidth_short.max(undo.bandwidth_short);
        model.inflight_short = model.inflight_short.max(undo.inflight_short);
        model.inflight_long = model.inflight_long.max(undo.inflight_long);
        match undo.state.take() {
            Some(BbrState::Startup) if self.state != BbrState::Startup => {
                self.full.reached = false;
                if self.state != BbrState::ProbeRtt {
                    self.state = BbrState::Startup;
                }
            }
            Some(BbrState::Up) if !matches!(self.state, BbrState::Up | BbrState::ProbeRtt) => {
                self.refill();
            }
            _ => {}
        }
    }
}

/// The bytes in flight when there were too many losses, interpolated within the last `size` lost
/// bytes. §5.5.10.2.
fn inflight_at_loss(in_flight: u64, lost: u64, size: u64) -> u64 {
    let held_before = in_flight.saturating_sub(size) as f64;
    let lost_before = lost.saturating_sub(size) as f64;
    let part = (THRESHOLD * held_before - lost_before) / (1.0 - THRESHOLD);
    (held_before + part.max(0.0)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_found_within_a_burst() {
        // 98 000 delivered and 2 000 lost: that is 2 %.
        assert_eq!(inflight_at_loss(110_000, 12_000, 12_000), 100_000);
        assert_eq!(inflight_at_loss(100_000, 50_000, 1_000), 99_000);
        assert_eq!(inflight_at_loss(0, 0, 1_000), 0);
    }
}
