//! Why an examination could not start. Later failures are checks with status `Unknown`.

use std::io;
use std::path::PathBuf;

/// The examined directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// The directory does not exist, is not a directory, or may not be entered.
    #[error("cannot examine {}: {source}", path.display())]
    Root {
        /// The directory that was requested.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}
