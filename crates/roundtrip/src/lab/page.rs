//! The page that `--html` asks for: what only the process knows of it, and where it is written.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use roundtrip_lab::Outcome;
use roundtrip_lab::html::{Head, page};

use crate::cli::LabRunArgs;

/// Said before minutes are spent on measuring.
pub(super) fn can_be_written(file: &Path) -> Result<(), String> {
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened.map(drop).map_err(|error| trouble(file, &error))
}

fn trouble(file: &Path, error: &std::io::Error) -> String {
    format!("cannot write the page to {}: {error}", file.display())
}

/// Measuring began at `began`.
pub(super) fn write(
    file: &Path,
    args: &LabRunArgs,
    outcomes: &[Outcome],
    began: std::time::SystemTime,
) -> Result<(), String> {
    let since = began.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let head = Head {
        made_by: concat!("roundtrip ", env!("CARGO_PKG_VERSION")).into(),
        when: roundtrip_wire::http_date::format(since.as_secs()),
        machine: machine(),
        command: command(args, file),
    };
    fs::write(file, page(outcomes, &head)).map_err(|error| trouble(file, &error))
}

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

/// What makes the same page again.
fn command(args: &LabRunArgs, file: &Path) -> String {
    let mut words = vec!["roundtrip lab run".to_owned()];
    words.extend(args.experiments.iter().cloned());
    words.push(super::settings(args));
    words.push(format!("--html {}", file.display()));
    words.join(" ")
}
