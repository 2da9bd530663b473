//! Two reports: what differs between them, what each difference costs, and what is left
//! unexplained.
//!
//! Pure: it takes the bytes of two JSON documents, and returns values, and text, JSON or a page of
//! them. `docs/json.md` describes the documents. They may come from anyone: sizes are bounded,
//! types are checked, and texts are stored unchanged until [`text`] and [`html`] make them safe to
//! show.

mod diff;
mod doctor;
mod error;
pub mod html;
pub mod json;
mod limit;
mod node;
mod numbers;
mod probe;
mod provenance;
mod read;
pub mod text;

pub use diff::{Diff, DiffError};
pub use doctor::{CheckChange, Doctor, DoctorDiff, ReportedCheck, Trend};
pub use error::{MAX_REPORT, ReadError};
pub use limit::{BrokenLimit, Limit, LimitError};
pub use probe::{
    ComparedFact, Contribution, ContributionKind, Difference, FactDiff, FindingDiff, Priced, Probe,
    ProbeDiff, ReportedFinding, ReportedPhase, Run, SideFigures, StageDiff, Weight,
};
pub use provenance::Provenance;
pub use read::{Report, read};
