//! Errors that prevent an experiment. Failures of one arm are in its results, and do not affect
//! other arms.

use std::io;
use std::path::PathBuf;

use roundtrip_path::WordError;

use crate::experiment::ExperimentError;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("there is no experiment '{name}'; there are {known}, and files that end in .toml")]
    Unknown { name: String, known: String },
    #[error("cannot read the experiment {path}: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Flaw(#[from] ExperimentError),
    #[error("the path cannot be: {0}")]
    Word(#[from] WordError),
    #[error(transparent)]
    Path(#[from] roundtrip_path::PathError),
    #[error("every arm of '{0}' sets its own round trip, so --rtt has nothing to change")]
    OwnRoundTrips(String),
}
