//! An arm that carries bytes, and the plan of `perf` that measures it once. The caller chooses the
//! cores.

use roundtrip_perf::plan::{self, Amount, Pattern, Pin, Terrain, Work};
use roundtrip_perf::{PerfPlan, PlanError};

use super::PathWords;

/// The server sends over one stream of one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    pub arm: plan::Arm,
    pub amount: Amount,
}

impl Transfer {
    /// The plan uses a bare wire if the path has no property but an MTU.
    pub fn plan(&self, path: &PathWords, offload: bool, seed: u64) -> Result<PerfPlan, PlanError> {
        let known = path.in_order();
        let mut words: Vec<(&str, String)> = known
            .iter()
            .map(|(word, value)| (*word, (*value).to_owned()))
            .collect();
        if words.iter().any(|(word, _)| *word != "mtu") {
            words.push(("seed", seed.to_string()));
        }
        Ok(PerfPlan {
            arms: vec![self.arm.clone()],
            work: Work {
                pattern: Pattern::Down,
                streams: 1,
                connections: 1,
                amount: self.amount,
            },
            rounds: 1,
            pin: Pin::default(),
            terrain: Terrain::described(&words, Some(offload))?,
        })
    }
}
