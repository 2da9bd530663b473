//! The document that `--json` prints.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::check::{Check, CheckStatus};

/// The schema's name and version: keys may be added, never renamed.
pub const SCHEMA: &str = "roundtrip/doctor/1";

/// All findings of one examination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorReport {
    schema: &'static str,
    /// The examined image; `None` is the running machine.
    pub root: Option<PathBuf>,
    /// The findings, in the order of [`crate::Area`].
    pub checks: Vec<Check>,
    /// The number of findings of each status.
    pub summary: StatusCounts,
}

/// The number of findings of each status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // the fields are named as the statuses are
pub struct StatusCounts {
    pub good: usize,
    pub notice: usize,
    pub problem: usize,
    pub unknown: usize,
}

impl DoctorReport {
    /// Counts and labels what [`crate::examine`] found under `root`.
    pub fn new(root: Option<&Path>, checks: Vec<Check>) -> Self {
        Self {
            schema: SCHEMA,
            root: root.map(Path::to_path_buf),
            summary: StatusCounts::count(&checks),
            checks,
        }
    }
}

impl StatusCounts {
    /// Counts the findings.
    pub fn count(checks: &[Check]) -> Self {
        let count = |status| checks.iter().filter(|c| c.status == status).count();
        Self {
            good: count(CheckStatus::Good),
            notice: count(CheckStatus::Notice),
            problem: count(CheckStatus::Problem),
            unknown: count(CheckStatus::Unknown),
        }
    }
}
