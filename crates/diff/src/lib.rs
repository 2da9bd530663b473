//! Two reports: what differs between them, what each difference costs, and what is left unexplained.
//!
//! Pure: bytes of two JSON documents come in, values go out; a program or a page makes text of them. The documents are
//! those that `docs/json.md` describes, and they may be anybody's: sizes are bounded, types are checked, and text is
//! kept as it came, so that whoever shows it must make it safe.

mod doctor;
mod error;
pub mod json;
mod limit;
mod probe;
mod read;

pub use doctor::{Change, Check, Doctor, DoctorDiff, Turn};
pub use error::ReadError;
pub use limit::{Broken, Limit, LimitError};
pub use probe::{
    Difference, Fact, FactDiff, Finding, FindingDiff, Kind, Part, Priced, Probe, ProbeDiff, Run,
    SideFigures, Stage, StageDiff, Weight,
};
pub use read::{LARGEST, Report, read};
