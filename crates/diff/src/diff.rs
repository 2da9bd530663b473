//! The comparison of two reports of either kind.

use crate::limit::{BrokenLimit, Limit, LimitError};
use crate::{DoctorDiff, ProbeDiff, Provenance, Report};

/// The differences between two reports of the same kind.
#[derive(Debug, Clone)]
pub enum Diff {
    Probe(Box<ProbeDiff>),
    Doctor(Box<DoctorDiff>),
}

/// Why two reports cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    #[error("A is a report of {a}, but B is one of {b}; both must be of the same kind")]
    Kinds { a: &'static str, b: &'static str },
    #[error("nothing was measured on one side")]
    Nothing,
}

impl Diff {
    pub fn new(a: &Report, b: &Report) -> Result<Self, DiffError> {
        match (a, b) {
            (Report::Probe(a), Report::Probe(b)) => {
                let diff = ProbeDiff::new(a, b).ok_or(DiffError::Nothing)?;
                Ok(Self::Probe(Box::new(diff)))
            }
            (Report::Doctor(a), Report::Doctor(b)) => {
                Ok(Self::Doctor(Box::new(DoctorDiff::new(a, b))))
            }
            (a, b) => {
                let (a, b) = (a.kind(), b.kind());
                Err(DiffError::Kinds { a, b })
            }
        }
    }

    /// The versions that made A and B.
    pub fn made(&self) -> (&Provenance, &Provenance) {
        let made = match self {
            Self::Probe(diff) => &diff.made,
            Self::Doctor(diff) => &diff.made,
        };
        (&made.0, &made.1)
    }

    /// The limits that the comparison breaks, each with the value that breaks it.
    pub fn broken<'a>(
        &self,
        limits: &'a [Limit],
    ) -> Result<Vec<(&'a Limit, BrokenLimit)>, LimitError> {
        let mut broken = Vec::new();
        for limit in limits {
            let by = match self {
                Self::Probe(diff) => limit.broken_by(diff),
                Self::Doctor(diff) => limit.broken_by_doctor(diff)?,
            };
            broken.extend(by.map(|by| (limit, by)));
        }
        Ok(broken)
    }
}
