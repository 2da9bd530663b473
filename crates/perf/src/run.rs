//! Runs a whole plan: each arm in turn, round by round, so that drift affects all of them.

use std::time::Duration;

use crate::error::PerfError;
use crate::outcome::{PerfOutcome, Visit};
use crate::plan::{Arm, PerfPlan};
use crate::scene::PerfScene;
use crate::stop::Stop;

/// The measurement in progress.
#[derive(Clone, Copy, Debug)]
pub struct PerfProgress<'a> {
    pub arm: &'a Arm,
    /// Counted from 1.
    pub round: u32,
    pub rounds: u32,
    /// The payload that has arrived in this visit, in bytes.
    pub bytes: u64,
    pub elapsed: Duration,
}

/// Measures in two namespaces of this process.
pub fn run(
    plan: PerfPlan,
    watch: &mut dyn FnMut(PerfProgress<'_>),
) -> Result<PerfOutcome, PerfError> {
    run_until(plan, &Stop::default(), watch)
}

/// Like [`run`], until `stop` is set.
pub fn run_until(
    plan: PerfPlan,
    stop: &Stop,
    watch: &mut dyn FnMut(PerfProgress<'_>),
) -> Result<PerfOutcome, PerfError> {
    plan.check()?;
    let scene = PerfScene::build(&plan.terrain)?;
    in_turn(plan, |plan, arm, round| {
        scene.visit(plan, arm, stop, &mut |bytes, elapsed| {
            watch(PerfProgress {
                arm,
                round,
                rounds: plan.rounds,
                bytes,
                elapsed,
            });
        })
    })
}

/// Visits each arm in each round; each round begins with another arm.
pub(crate) fn in_turn(
    plan: PerfPlan,
    mut visit: impl FnMut(&PerfPlan, &Arm, u32) -> Result<Visit, PerfError>,
) -> Result<PerfOutcome, PerfError> {
    let count = plan.arms.len();
    let mut visits = vec![Vec::new(); count];
    let mut interrupted = false;
    'all: for round in 0..plan.rounds {
        let places = (0..count).cycle().skip(round as usize % count.max(1));
        for place in places.take(count) {
            let (Some(arm), Some(of_arm)) = (plan.arms.get(place), visits.get_mut(place)) else {
                continue;
            };
            match visit(&plan, arm, round + 1) {
                Ok(visit) => of_arm.push(visit),
                Err(PerfError::Interrupted) => {
                    interrupted = true;
                    break 'all;
                }
                Err(error) => return Err(error),
            }
        }
    }
    if interrupted && visits.iter().all(Vec::is_empty) {
        return Err(PerfError::Interrupted);
    }
    Ok(PerfOutcome {
        interrupted,
        ..PerfOutcome::new(plan, visits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::{plan, visit};

    #[test]
    fn results_before_an_interruption_are_kept() {
        let mut left = 4;
        let outcome = in_turn(plan(&["tcp", "tls", "quic"]), |_, _, _| {
            left -= 1;
            (left >= 0)
                .then(|| visit(200))
                .ok_or(PerfError::Interrupted)
        });
        let outcome = outcome.unwrap();
        let visits: Vec<usize> = outcome.arms.iter().map(|arm| arm.visits.len()).collect();
        // The second round begins with the second arm.
        assert_eq!((visits, outcome.interrupted), (vec![1, 2, 1], true));
    }

    #[test]
    fn nothing_measured_is_an_error() {
        let none = in_turn(plan(&["tcp"]), |_, _, _| Err(PerfError::Interrupted));
        assert!(matches!(none, Err(PerfError::Interrupted)), "{none:?}");
        let all = in_turn(plan(&["tcp"]), |_, _, _| Ok(visit(1))).unwrap();
        assert!(!all.interrupted);
    }
}
