//! The measuring: random blocks in which each way occurs once, until every interval is narrow or the budget is spent.

use roundtrip_model::{Random, blocks};

use crate::budget::Budget;
use crate::outcome::{Ended, Line};
use crate::sample::take;
use crate::wishes::Wishes;

/// Fewer pairs than these show nothing, and with these an interval says little of its own width.
const LEAST_BLOCKS: u32 = 8;
/// How often it is looked whether the answer is clear.
const LOOK_EVERY: u32 = 4;
/// An interval is narrow whose half is less than this share of today's time …
const NARROW: f64 = 0.02;
/// … or than so many ms.
const NARROW_MS: f64 = 0.25;
/// A way that never went well is not asked any more.
const PATIENCE: usize = 3;
/// More blocks than the largest budget has room for.
const MOST_BLOCKS: usize = 10_000;

/// What the lines are told while they fill.
pub(crate) struct Step {
    pub(crate) block: u32,
    pub(crate) sent: u32,
}

/// The first line is the baseline. It is cancelled between two samples or within one; what is there then is whole.
pub(crate) async fn run(
    wishes: &Wishes,
    lines: &mut [Line],
    done: &mut u32,
    budget: &mut Budget,
    mut told: impl FnMut(&Line, Step),
) -> Ended {
    let mut random = Random::seeded(wishes.seed);
    let most = MOST_BLOCKS.min(wishes.limits.requests as usize);
    for (block, order) in blocks(lines.len(), most, &mut random).iter().enumerate() {
        let k = wishes.requests;
        let cost = lines.iter().filter(|l| !is_hopeless(l));
        let cost = cost.fold(0, |sum: u32, l| sum.saturating_add(l.way.dearest(k)));
        if !budget.allows(cost) {
            return Ended::Requests;
        }
        let block = block as u32;
        for place in order {
            let Some(line) = lines.get_mut(*place).filter(|l| !is_hopeless(l)) else {
                continue;
            };
            if !budget.has_time() {
                return Ended::Time;
            }
            let sent = budget.sent();
            told(line, Step { block, sent });
            budget.turn(line.way.dearest(k)).await;
            let taken = take(wishes, &line.way, k).await;
            budget.charge(taken.requests);
            match taken.outcome {
                Ok(sample) => line.samples.push((block, sample)),
                Err(why) => line.failures.push(why),
            }
        }
        *done = block + 1;
        if *done >= LEAST_BLOCKS && done.is_multiple_of(LOOK_EVERY) && is_clear(lines, wishes.seed)
        {
            return Ended::Clear;
        }
    }
    Ended::Requests
}

fn is_hopeless(line: &Line) -> bool {
    line.samples.is_empty() && line.failures.len() >= PATIENCE
}

/// The width of the intervals decides, never where they lie: who stops when he likes what he sees finds what is not there.
fn is_clear(lines: &mut [Line], seed: u64) -> bool {
    pair(lines, seed);
    let Some(today) = lines.first().and_then(Line::median) else {
        return false;
    };
    let narrow = (today * NARROW).max(NARROW_MS);
    let others = lines.iter().skip(1).filter(|l| !is_hopeless(l));
    others
        .map(|line| line.saving)
        .all(|saving| saving.is_some_and(|s| (s.high - s.low) / 2.0 <= narrow))
}

/// Holds all lines against the first, block by block.
pub(crate) fn pair(lines: &mut [Line], seed: u64) {
    let Some((baseline, others)) = lines.split_first_mut() else {
        return;
    };
    // Each line draws for itself, so that what it says does not depend on which others there are.
    for line in others {
        line.pair(&baseline.samples, &mut Random::seeded(seed));
    }
}
