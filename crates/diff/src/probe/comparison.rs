//! The comparison as a whole.

use roundtrip_model::Random;

use super::attribution::{Contribution, ContributionKind, parts};
use super::changes::{FactDiff, FindingDiff, Values, facts, findings};
use super::difference::Difference;
use super::figures::{SideFigures, StageDiff, stages};
use super::reasons::Reasons;
use super::{Probe, answer};
use crate::Provenance;

/// A fixed seed, so that the same comparison gives the same interval.
const SEED: u64 = 1;

#[derive(Debug, Clone, PartialEq)]
pub struct ProbeDiff {
    /// The versions that made A and B.
    pub made: (Provenance, Provenance),
    pub urls: (String, String),
    pub failed: (usize, usize),
    pub figures: (SideFigures, SideFigures),
    pub difference: Difference,
    pub stages: Vec<StageDiff>,
    /// The parts of the difference, which sum to it.
    pub parts: Vec<Contribution>,
    pub facts: Vec<FactDiff>,
    pub findings: Vec<FindingDiff>,
    /// The conclusion, in one paragraph.
    pub answer: String,
}

impl ProbeDiff {
    /// Compares two reports; `None` if a side has no runs, which [`crate::read`] never returns.
    pub fn new(a: &Probe, b: &Probe) -> Option<Self> {
        let figures = (SideFigures::from_probe(a)?, SideFigures::from_probe(b)?);
        let totals =
            |probe: &Probe| -> Vec<f64> { probe.runs.iter().map(|r| r.total_ms).collect() };
        let difference = Difference::new(&totals(a), &totals(b), &mut Random::seeded(SEED));
        let stages = stages(a, b);
        let values = (Values::from_probe(a), Values::from_probe(b));
        let both = (&figures.0, &figures.1);
        let reasons = Reasons::new(a, b, both, (&values.0, &values.1));
        let parts = parts(&stages, both, difference.ms, &reasons);
        let mut diff = Self {
            made: (a.made.clone(), b.made.clone()),
            urls: (a.url.clone(), b.url.clone()),
            failed: (a.failed, b.failed),
            figures,
            difference,
            stages,
            parts,
            facts: facts(&values.0, &values.1),
            findings: findings(a, b),
            answer: String::new(),
        };
        diff.answer = answer::paragraph(&diff);
        Some(diff)
    }

    /// The time that no part accounts for.
    pub fn unexplained_ms(&self) -> f64 {
        self.sum(|kind| kind == ContributionKind::Unexplained)
    }

    /// The sum of these kinds of parts.
    pub fn sum(&self, of: impl Fn(ContributionKind) -> bool) -> f64 {
        let mine = self.parts.iter().filter(|part| of(part.kind));
        // Adding zero turns the -0.0 of an empty sum into 0.0.
        mine.map(|part| part.ms).sum::<f64>() + 0.0
    }
}
