//! The page that `--html` asks for: what only the process knows of it, and where it is written.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roundtrip_report::clean;
use roundtrip_report::html::Head;

use crate::output::{self, Outcome, Stream, failed};

pub(crate) const MADE_BY: &str = concat!("roundtrip ", env!("CARGO_PKG_VERSION"));

/// Said before minutes are spent on measuring.
pub(crate) fn can_be_written(file: &Path) -> Result<(), String> {
    output::can_be_written(file).map_err(|error| trouble(file, &error))
}

/// Writes it, and says so unless that is to stay `quiet`.
pub(crate) fn deliver(file: &Path, page: &str, quiet: bool) -> Result<(), Outcome> {
    fs::write(file, page).map_err(|error| failed(&trouble(file, &error)))?;
    if !quiet {
        let file = clean(&file.display().to_string());
        Stream::Err.print(format!("page written to {file}\n"));
    }
    Ok(())
}

fn trouble(file: &Path, error: &dyn Display) -> String {
    format!("cannot write the page to {}: {error}", file.display())
}

/// Of a page of measurements, which began at `began`; `command` makes it again.
pub(crate) fn head(began: SystemTime, machine: String, command: String) -> Head {
    let since = began.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Head {
        made_by: MADE_BY.into(),
        when: roundtrip_wire::http_date::format(since.as_secs()),
        machine,
        command,
    }
}

/// Kernel, cores and build.
pub(crate) fn machine() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease");
    let kernel = kernel.map_or("of an unknown release".into(), |k| k.trim().to_owned());
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let cores = match cores {
        0 => String::new(),
        1 => ", 1 core".into(),
        n => format!(", {n} cores"),
    };
    let kind = std::env::consts::ARCH;
    // A figure of a debug build is a figure of the debug build.
    let build = if cfg!(debug_assertions) {
        "; a debug build"
    } else {
        ""
    };
    format!("Linux {kernel} on {kind}{cores}{build}")
}
