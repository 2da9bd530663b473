//! Measures random blocks in which each way occurs once, until every interval is narrow or the
//! budget is spent.

use roundtrip_model::{Random, blocks};

use crate::budget::RequestBudget;
use crate::config::CompareConfig;
use crate::outcome::{EndReason, MeasuredWay};
use crate::sample::take;

/// Fewer pairs than this show nothing, and the width of their interval means little.
const MIN_BLOCKS: u32 = 8;
/// After how many blocks to check whether the answer is clear.
const LOOK_EVERY: u32 = 4;
/// An interval is narrow if half its width is less than this share of today's time, or than
/// `NARROW_MS`.
const NARROW: f64 = 0.02;
/// An interval is narrow if it is at most this many milliseconds wide.
const NARROW_MS: f64 = 0.25;
/// A way that has failed this often, and never succeeded, is not tried again.
const MAX_FAILURES: usize = 3;
/// More blocks than the largest budget allows.
const MAX_BLOCKS: usize = 10_000;

/// Progress reports while samples are collected.
pub(crate) struct MeasureStep {
    pub(crate) block: u32,
    pub(crate) sent: u32,
}

/// The first line is the baseline. The future may be dropped at any time; complete samples remain.
pub(crate) async fn run(
    config: &CompareConfig,
    lines: &mut [MeasuredWay],
    done: &mut u32,
    budget: &mut RequestBudget,
    mut told: impl FnMut(&MeasuredWay, MeasureStep),
) -> EndReason {
    let mut random = Random::seeded(config.seed);
    let most = MAX_BLOCKS.min(config.limits.requests as usize);
    for (block, order) in blocks(lines.len(), most, &mut random).iter().enumerate() {
        let k = config.requests;
        let cost = lines.iter().filter(|l| !is_hopeless(l));
        let cost = cost.fold(0, |sum: u32, l| sum.saturating_add(l.way.dearest(k)));
        if !budget.allows(cost) {
            return EndReason::Requests;
        }
        let block = block as u32;
        for place in order {
            let Some(line) = lines.get_mut(*place).filter(|l| !is_hopeless(l)) else {
                continue;
            };
            if !budget.has_time() {
                return EndReason::Time;
            }
            let sent = budget.sent();
            told(line, MeasureStep { block, sent });
            budget.turn(line.way.dearest(k)).await;
            let taken = take(config, &line.way, k).await;
            budget.charge(taken.requests);
            match taken.outcome {
                Ok(sample) => line.samples.push((block, sample)),
                Err(why) => line.failures.push(why),
            }
        }
        *done = block + 1;
        if *done >= MIN_BLOCKS && done.is_multiple_of(LOOK_EVERY) && is_clear(lines, config.seed) {
            return EndReason::Clear;
        }
    }
    EndReason::Requests
}

fn is_hopeless(line: &MeasuredWay) -> bool {
    line.samples.is_empty() && line.failures.len() >= MAX_FAILURES
}

/// The width of the intervals decides, never their position: stopping when the result pleases finds
/// differences that do not exist.
fn is_clear(lines: &mut [MeasuredWay], seed: u64) -> bool {
    pair(lines, seed);
    let Some(today) = lines.first().and_then(MeasuredWay::median) else {
        return false;
    };
    let narrow = (today * NARROW).max(NARROW_MS);
    let others = lines.iter().skip(1).filter(|l| !is_hopeless(l));
    others
        .map(|line| line.saving)
        .all(|saving| saving.is_some_and(|s| (s.high - s.low) / 2.0 <= narrow))
}

/// Compares each line with the first one, block by block.
pub(crate) fn pair(lines: &mut [MeasuredWay], seed: u64) {
    let Some((baseline, others)) = lines.split_first_mut() else {
        return;
    };
    // Each line has its own random numbers, so that its result does not depend on which other lines
    // there are.
    for line in others {
        line.pair(&baseline.samples, &mut Random::seeded(seed));
    }
}
