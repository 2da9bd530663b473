//! `--qlog DIR`, or `QLOGDIR`: a log of each QUIC connection.

use std::env;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use roundtrip_quic::set_logger;
use roundtrip_quic_tokio::QlogDirectory;

use crate::cli::QlogArgs;
use crate::output::say;

/// The directory cannot be used.
#[derive(Debug)]
pub(crate) struct QlogError {
    directory: PathBuf,
    why: io::Error,
}

/// Has all QUIC connections logged from now on, if a directory was given.
pub(crate) fn start(args: &QlogArgs) -> Result<(), QlogError> {
    let given = env::var_os("QLOGDIR").filter(|value| !value.is_empty());
    let Some(directory) = args.qlog.clone().or(given.map(PathBuf::from)) else {
        return Ok(());
    };
    let report = |file: &std::path::Path, error: &io::Error| {
        say(&format!("{}: {error}; QUIC is not logged", file.display()));
    };
    match QlogDirectory::new(&directory, report) {
        Ok(logger) => {
            set_logger(Arc::new(logger));
            Ok(())
        }
        Err(why) => Err(QlogError { directory, why }),
    }
}

impl fmt::Display for QlogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--qlog {}: {}", self.directory.display(), self.why)
    }
}
