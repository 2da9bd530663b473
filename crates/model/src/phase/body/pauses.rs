//! Why nothing arrived for a while, if no window stopped the sender.

use super::{Arrival, BodyAnalysis, MIN_PAUSE};
use crate::phase::evidence::Evidence;
use crate::phase::ms;
use crate::phase::pause::{self, PauseReason};

/// Shorter pauses are attributed to the line, even if the sender had certainly sent all that it had
/// before them: in round trips, and in milliseconds.
const MIN_CERTAIN_PAUSE: f64 = 0.25;
const MIN_CERTAIN_PAUSE_MS: f64 = 5.0;
/// This many arrivals show a sender with a clock, if the distances between them are at least this
/// many milliseconds and differ by at most this share.
const MIN_PERIODS: usize = 10;
const MIN_PERIOD_MS: f64 = 5.0;
const SAME_PERIOD: f64 = 0.1;

/// Whether pieces smaller than segments arrived at equal distances, which is not the path's
/// variation.
pub(super) fn have_a_clock(arrivals: &[Arrival], segment: u64) -> bool {
    let gaps = arrivals.windows(2).filter_map(|both| match both {
        [one, next] if next.bytes < segment => Some(ms(next.at.since(one.at))),
        _ => None,
    });
    let mut gaps: Vec<f64> = gaps.filter(|gap| *gap >= MIN_PERIOD_MS).collect();
    gaps.sort_by(f64::total_cmp);
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or_default();
    let equal = gaps
        .iter()
        .filter(|gap| (*gap - usual).abs() <= SAME_PERIOD * usual);
    let equal = equal.count();
    equal >= MIN_PERIODS && 10 * equal >= 8 * gaps.len()
}

/// The part of `gap` that lay between the departures of what arrived before it and after it; all of
/// it, if they are not known.
pub(super) fn between_departures(gap: f64, heard: &Evidence) -> f64 {
    heard.departed().map_or(gap, |after| after.min(gap))
}

impl BodyAnalysis<'_> {
    /// Why nothing arrived for `gap`, if no window stopped the sender.
    pub(super) fn why(&self, gap: f64, arrival: &Arrival, next: Option<u64>) -> PauseReason {
        let heard = &arrival.heard;
        let next = next.unwrap_or(arrival.bytes);
        let least = (MIN_PAUSE * self.rtt).clamp(1.0, f64::MAX);
        let certain = (MIN_CERTAIN_PAUSE * self.rtt).max(MIN_CERTAIN_PAUSE_MS);
        let is_known = heard.departed().is_some();
        let own = between_departures(gap, heard);
        // The path has no part in the time between two departures, unless the sender waited for
        // acknowledgements.
        let may_have_more = heard.is_broken(self.exchange)
            || pause::may_have_more(self.exchange, self.last, heard, next);
        let excused = if is_known && !may_have_more {
            0.0
        } else {
            self.most.max(self.tolerance)
        };
        // A pause this short is not attributed to any party.
        if own < least.min(certain) || own <= excused {
            return if is_known && pause::was_held_up(self.exchange, gap - own, next) {
                PauseReason::Path
            } else {
                PauseReason::Line
            };
        }
        match pause::reason(self.exchange, own, self.beyond, self.last, heard, next) {
            PauseReason::Sender { is_certain: true }
                if own >= certain && heard.segments().is_some() =>
            {
                PauseReason::Sender { is_certain: true }
            }
            // Where the sender may have had more, the path may have held it back.
            PauseReason::Sender { is_certain: false }
                if own <= self.possible_later
                    && pause::may_have_more(self.exchange, self.last, heard, next) =>
            {
                PauseReason::Line
            }
            _ if own < least => PauseReason::Line,
            reason => reason,
        }
    }
}
