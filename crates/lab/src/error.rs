//! Errors that prevent an experiment. Failures of one arm are in its results, and do not affect
//! other arms.

use std::io;
use std::path::PathBuf;

use roundtrip_model::StrategyError;
use roundtrip_path::WordError;
use roundtrip_perf::PlanError;

use crate::claim::ClaimError;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("there is no experiment '{name}'; known are {known}, and files that end in .toml")]
    Unknown { name: String, known: String },
    #[error("cannot read the experiment {path}: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Flaw(#[from] ExperimentError),
    #[error("invalid path: {0}")]
    Word(#[from] WordError),
    #[error(transparent)]
    Path(#[from] roundtrip_path::PathError),
    #[error("every arm of '{0}' sets its own round trip, so --rtt has nothing to change")]
    OwnRoundTrips(String),
}

/// An error in a file, and its position.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct ExperimentError {
    pub file: String,
    pub line: usize,
    #[source]
    pub what: ExperimentErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum ExperimentErrorKind {
    #[error("{0}")]
    Format(String),
    #[error("{0}")]
    Strategy(#[from] StrategyError),
    #[error("the claim cannot be read: {0}")]
    Claim(#[from] ClaimError),
    #[error("invalid path: {0}")]
    Word(#[from] WordError),
    #[error("the origin has no such knob: {0}; `roundtrip origin --help` lists them")]
    Knob(String),
    #[error("there is no {0} '{1}'; known are {2}")]
    Unknown(&'static str, String, String),
    #[error("the {0} '{1}' exists twice; give each a unique name")]
    Twice(&'static str, String),
    #[error("'{0}' is not a valid name: names consist of letters, digits and - + . @ _")]
    Name(String),
    #[error("invalid transfer: {0}")]
    Transfer(#[from] PlanError),
    #[error("{0} has no effect on a transfer; it is for arms with a strategy or a program")]
    NoTransfer(&'static str),
    #[error("measure must be `cost` for transfers, and `cost` is for transfers only")]
    Cost,
    #[error("set either the time or the bytes of the transfer, not both")]
    Amount,
    #[error("the arm '{0}' needs either a strategy, a program or a transfer")]
    Client(String),
    #[error("{0} is for arms with a {1}")]
    Misplaced(&'static str, &'static str),
    #[error("the server '{0}' needs either knobs (of the origin) or a command")]
    Server(String),
    #[error("{0} is not a valid value; write a string, a number, or a list of them")]
    Value(String),
    #[error("{0} must be between {1} and {2}")]
    Range(&'static str, u32, u32),
    #[error("'{0}' is not a time span; write, for example, 120ms")]
    Span(String),
    #[error("the experiment has no {0}; add a [[{0}]]")]
    Nothing(&'static str),
    #[error("the word of a sweep must be 'requests' or a word of the path")]
    Sweep(#[source] WordError),
}
