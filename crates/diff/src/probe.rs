//! The parts of a `probe` report that can be compared, and the comparison.

mod answer;
mod attribution;
mod changes;
mod comparison;
mod difference;
mod figures;
mod reasons;
mod words;

use roundtrip_model::Waited;

use crate::Provenance;

pub use attribution::{Contribution, ContributionKind};
pub use changes::{FactDiff, FindingDiff, Priced};
pub use comparison::ProbeDiff;
pub use difference::Difference;
pub use figures::{SideFigures, StageDiff};

/// All runs of one URL.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    pub url: String,
    pub made: Provenance,
    /// The runs that succeeded; at least one.
    pub runs: Vec<Run>,
    pub failed: usize,
    /// Why the first failed run failed.
    pub failure: Option<String>,
}

/// One run with all its redirects.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    pub total_ms: f64,
    pub ttfb_ms: Option<f64>,
    pub rtt_ms: Option<f64>,
    pub hops: usize,
    pub stages: Vec<ReportedPhase>,
    /// The client's tasks and their milliseconds.
    pub work: Vec<(String, f64)>,
    pub findings: Vec<ReportedFinding>,
    /// The facts of the last hop.
    pub facts: Vec<ComparedFact>,
}

/// A phase as the report has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedPhase {
    pub name: String,
    pub ms: f64,
    pub round_trips: f64,
    /// The time from the phase's start until the client first sent something.
    pub first_sent_ms: Option<f64>,
    pub waited: Waited,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ReportedFinding {
    pub id: String,
    pub ms: f64,
    pub round_trips: f64,
    pub evidence: String,
    pub remedy: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedFact {
    pub label: &'static str,
    pub value: String,
    pub weight: Weight,
}

/// Whether a fact may make a difference in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    Telling,
    Fine,
}

impl Probe {
    /// Whether any run has this phase.
    fn uses(&self, phase: &str) -> bool {
        let mut stages = self.runs.iter().flat_map(|run| &run.stages);
        stages.any(|stage| stage.name == phase)
    }

    /// The middle half of the runs by their totals. Means over them are as robust as medians and,
    /// unlike medians, add up: the parts sum to the whole.
    fn middle(&self) -> Vec<&Run> {
        let mut runs: Vec<&Run> = self.runs.iter().collect();
        runs.sort_by(|a, b| a.total_ms.total_cmp(&b.total_ms));
        let aside = runs.len() / 4;
        runs.drain(..aside);
        runs.truncate(runs.len() - aside);
        runs
    }
}

/// The mean; zero if there are no values.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len().max(1) as f64;
    values.sum::<f64>() / n
}

/// The median; zero if there are no values.
fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    roundtrip_model::Summary::from_samples(&values).map_or(0.0, |summary| summary.median)
}
