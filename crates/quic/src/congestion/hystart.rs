//! Ends slow start before it loses packets: HyStart++ (RFC 9406), for a sender that paces and has
//! asked its peer to acknowledge rarely.
//!
//! The RFC takes the shortest of a round's first eight samples. Here a round may have no more than
//! eight, and a sender that paces at twice the rate of the previous round builds its queue in the
//! middle of a round: the first samples do not show it, and by the eighth the window is twice what
//! the path holds. So slow start becomes conservative as soon as a few samples in a row show a
//! rise, and ends when they show a rise that only a full path can cause. It also ends when every
//! sample of a round shows a rise, because that is a standing queue. If no round shows one, the
//! rise was chance, and slow start continues.

use std::time::Duration;

use super::Acknowledged;
use crate::Time;

const MIN_GROWTH: Duration = Duration::from_millis(4);
const MAX_GROWTH: Duration = Duration::from_millis(16);
/// This many samples in a row are not chance. They must be apart: the samples of one burst count as
/// one.
const SAMPLES: usize = 3;
const APART: u32 = 16;
/// Conservative slow start grows at this fraction of slow start's rate, and waits this many rounds
/// for a queue to show.
const DIVISOR: u64 = 4;
const ROUNDS: u32 = 3;
/// Sending at twice the known rate for half a round trip builds a queue of half the path's
/// capacity. A queue whose delay exceeds this fraction of the round trip is not caused by a burst.
const FULL: u32 = 2;

#[derive(Debug, Clone, Default)]
pub(super) struct Hystart {
    /// The shortest round trip of the last round that raised no suspicion.
    baseline: Option<Duration>,
    recent: [Duration; SAMPLES],
    count: usize,
    last: Option<Time>,
    round: HystartRound,
    /// How many rounds slow start has been conservative for; `None` if it is not.
    conservative: Option<u32>,
}

#[derive(Debug, Clone, Default)]
struct HystartRound {
    shortest: Option<Duration>,
    samples: usize,
}

impl Hystart {
    /// Returns how much the window grows by, and whether slow start has ended.
    pub(super) fn grow(&mut self, told: &Acknowledged) -> (u64, bool) {
        let mut over = told.sample.is_some_and(|sample| self.see(told.now, sample));
        let growth = match self.conservative {
            Some(_) => told.bytes / DIVISOR,
            None => told.bytes,
        };
        over |= told.round_ended && self.end_round();
        (growth, over)
    }

    pub(super) fn is_conservative(&self) -> bool {
        self.conservative.is_some()
    }

    /// Records a sample; returns whether the queue is so long that the path must be full.
    fn see(&mut self, now: Time, sample: Duration) -> bool {
        let shortest = self.round.shortest.map_or(sample, |own| own.min(sample));
        self.round.shortest = Some(shortest);
        self.round.samples += 1;
        let is_near = |last| now.since(last) < shortest / APART;
        if self.last.is_some_and(is_near) {
            return false;
        }
        self.last = Some(now);
        if let Some(place) = self.recent.get_mut(self.count % SAMPLES) {
            *place = sample;
        }
        self.count += 1;
        let recent = self.recent.iter().copied().min();
        if self.count < SAMPLES || !self.is_above(recent, Duration::ZERO) {
            return false;
        }
        self.conservative.get_or_insert(0);
        let full = self.baseline.unwrap_or_default() / FULL;
        self.is_above(recent, full)
    }

    fn end_round(&mut self) -> bool {
        let round = std::mem::take(&mut self.round);
        let stands = round.samples >= SAMPLES && self.is_above(round.shortest, Duration::ZERO);
        match &mut self.conservative {
            // The first of these rounds began earlier.
            Some(rounds) if *rounds > 0 && stands => return true,
            Some(rounds) if *rounds < ROUNDS => {
                *rounds += 1;
                return false;
            }
            _ => {}
        }
        self.conservative = None;
        self.baseline = round.shortest.or(self.baseline);
        false
    }

    /// Whether a sample exceeds the baseline by enough to show a standing queue, and by at least
    /// `rise`.
    fn is_above(&self, sample: Option<Duration>, rise: Duration) -> bool {
        let limit = |baseline: Duration| {
            let growth = (baseline / 8).clamp(MIN_GROWTH, MAX_GROWTH);
            baseline + growth.max(rise)
        };
        let both = sample.zip(self.baseline);
        both.is_some_and(|(sample, baseline)| sample >= limit(baseline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates rounds of eight acknowledgements; `sample` gives each one's sample in
    /// milliseconds. Returns the round in which slow start ends.
    fn over(rounds: usize, sample: impl Fn(usize, usize) -> u64) -> Option<usize> {
        let mut hystart = Hystart::default();
        let mut now = Time::ZERO;
        (0..rounds).find(|round| {
            (0..8).any(|turn| {
                now = now.after(Duration::from_millis(10));
                let told = Acknowledged {
                    now,
                    bytes: 1200,
                    sent: Time::ZERO,
                    in_flight: 0,
                    app_limited: false,
                    sample: Some(Duration::from_millis(sample(*round, turn))),
                    smoothed: Duration::from_millis(80),
                    delivered: 0,
                    rate: None,
                    round_ended: turn == 7,
                };
                hystart.grow(&told).1
            })
        })
    }

    #[test]
    fn a_queue_that_stands_ends_slow_start() {
        let grows =
            |round: usize, turn: usize| 80 + (round * 8 + turn).saturating_sub(20) as u64 * 2;
        assert_eq!(over(20, grows), Some(4));
    }

    #[test]
    fn samples_that_differ_by_chance_do_not_end_slow_start() {
        let chance = |round: usize, turn: usize| {
            let mixed = ((round * 8 + turn) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            80 + mixed % 25
        };
        assert_eq!(over(30, chance), None);
    }

    #[test]
    fn a_burst_of_others_that_passes_does_not() {
        let passes = |round, turn| if round == 5 && turn > 2 { 110 } else { 80 };
        assert_eq!(over(30, passes), None);
    }
}
