//! Writes the page that `--html` asks for.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use roundtrip_report::clean;

use crate::output::{self, Outcome, OutputStream, failed};

/// Checked before minutes are spent on measuring.
pub(crate) fn can_be_written(file: &Path) -> Result<(), String> {
    output::can_be_written(file).map_err(|error| trouble(file, &error))
}

/// Writes the page, and reports that unless `quiet`.
pub(crate) fn deliver(file: &Path, page: &str, quiet: bool) -> Result<(), Outcome> {
    fs::write(file, page).map_err(|error| failed(&trouble(file, &error)))?;
    if !quiet {
        let file = clean(&file.display().to_string());
        OutputStream::Err.print(format!("page written to {file}\n"));
    }
    Ok(())
}

fn trouble(file: &Path, error: &dyn Display) -> String {
    format!("cannot write the page to {}: {error}", file.display())
}
