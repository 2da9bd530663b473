//! All of a plan: round by round each arm in its turn, so that whatever drifts befalls all of them.

use std::time::Duration;

use crate::error::PerfError;
use crate::outcome::{Outcome, Visit};
use crate::plan::{Arm, Plan};
use crate::scene::Scene;

/// What is under way.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    pub arm: &'a Arm,
    /// From 1 on.
    pub round: u32,
    pub rounds: u32,
    /// Payload that has come in this visit.
    pub bytes: u64,
    pub elapsed: Duration,
}

/// Measures in two namespaces of this process.
pub fn run(plan: Plan, watch: &mut dyn FnMut(Progress<'_>)) -> Result<Outcome, PerfError> {
    plan.check()?;
    let scene = Scene::build(&plan.terrain)?;
    let visits = in_turn(&plan, |arm, round| {
        scene.visit(&plan, arm, &mut |bytes, elapsed| {
            watch(Progress {
                arm,
                round,
                rounds: plan.rounds,
                bytes,
                elapsed,
            });
        })
    })?;
    Ok(Outcome::of(plan, visits))
}

/// The visits of each arm. Each round begins with another arm.
pub(crate) fn in_turn(
    plan: &Plan,
    mut visit: impl FnMut(&Arm, u32) -> Result<Visit, PerfError>,
) -> Result<Vec<Vec<Visit>>, PerfError> {
    let count = plan.arms.len();
    let mut visits = vec![Vec::new(); count];
    for round in 0..plan.rounds {
        let places = (0..count).cycle().skip(round as usize % count.max(1));
        for place in places.take(count) {
            if let (Some(arm), Some(visits)) = (plan.arms.get(place), visits.get_mut(place)) {
                visits.push(visit(arm, round + 1)?);
            }
        }
    }
    Ok(visits)
}
