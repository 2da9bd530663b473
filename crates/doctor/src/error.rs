//! Why an examination could not start. What goes wrong later is a check with status `Unknown`.

use std::io;
use std::path::PathBuf;

/// The examined directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// It does not exist, is no directory, or may not be entered.
    #[error("cannot examine {}: {source}", path.display())]
    Root {
        /// The directory that was asked for.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
}
