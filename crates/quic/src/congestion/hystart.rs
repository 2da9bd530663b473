//! When slow start ought to end before it loses packets: HyStart++, RFC 9406.

use std::time::Duration;

use super::Acknowledged;

const LEAST_GROWTH: Duration = Duration::from_millis(4);
const MOST_GROWTH: Duration = Duration::from_millis(16);
/// As many samples tell a round's shortest round trip. A peer that was asked to acknowledge rarely gives fewer: then the
/// end of the round decides, with no less than these.
const SAMPLES: u32 = 8;
const FEWEST_SAMPLES: u32 = 3;
/// Conservative slow start grows by this part of slow start's growth, for so many rounds.
const DIVISOR: u64 = 4;
const ROUNDS: u32 = 5;

#[derive(Debug, Default)]
pub(super) struct Hystart {
    last_round: Option<Duration>,
    this_round: Option<Duration>,
    samples: u32,
    conservative: Option<Conservative>,
}

/// Slow start that may turn out to have been left too early.
#[derive(Debug)]
struct Conservative {
    /// The shortest round trip of the round that gave the alarm.
    baseline: Duration,
    rounds: u32,
}

impl Hystart {
    /// How much the window grows by, and whether slow start is over.
    pub(super) fn grow(&mut self, told: &Acknowledged) -> (u64, bool) {
        if let Some(sample) = told.sample {
            self.samples += 1;
            self.this_round = Some(self.this_round.map_or(sample, |least| least.min(sample)));
        }
        if self.samples >= SAMPLES || (told.round_ended && self.samples >= FEWEST_SAMPLES) {
            self.judge();
        }
        let growth = match self.conservative {
            Some(_) => told.bytes / DIVISOR,
            None => told.bytes,
        };
        let over = told.round_ended && self.end_round();
        (growth, over)
    }

    fn judge(&mut self) {
        let Some(now) = self.this_round else { return };
        if let Some(conservative) = &self.conservative {
            if now < conservative.baseline {
                self.conservative = None;
            }
        } else if let Some(before) = self.last_round {
            let growth = (before / 8).clamp(LEAST_GROWTH, MOST_GROWTH);
            if now >= before + growth {
                let baseline = now;
                self.conservative = Some(Conservative {
                    baseline,
                    rounds: 0,
                });
            }
        }
    }

    fn end_round(&mut self) -> bool {
        self.last_round = self.this_round.take().or(self.last_round);
        self.samples = 0;
        let Some(conservative) = &mut self.conservative else {
            return false;
        };
        conservative.rounds += 1;
        conservative.rounds >= ROUNDS
    }
}
