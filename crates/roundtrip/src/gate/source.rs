//! Where the configuration comes from: a file, or the default without one; and what is wrong with
//! it.

use std::fs;
use std::time::SystemTime;

use roundtrip_gate::GateError;
use roundtrip_gate::check::{CheckReport, ConfigFinding, check, file};
use roundtrip_gate::config::Config;

use crate::cli::GateConfigArgs;

pub(super) fn read(from: &GateConfigArgs) -> Result<Config, GateError> {
    match &from.config {
        Some(path) => Config::read(path),
        None => Config::default_run(),
    }
}

/// Everything that is wrong with the configuration, except what only the network can tell.
pub(super) fn examine(from: &GateConfigArgs, config: &Config) -> CheckReport {
    let mut report = check(config, SystemTime::now());
    if let Some(path) = &from.config {
        file(path, &mut report);
    }
    report
}

/// Adds the lines of the findings, if there are any.
pub(super) fn locate(from: &GateConfigArgs, report: &mut CheckReport) {
    let found = from.config.as_ref().filter(|_| !report.findings.is_empty());
    if let Some(Ok(text)) = found.map(fs::read_to_string) {
        report.locate(&text);
    }
}

/// The finding with its place, as compilers write it.
pub(super) fn told(from: &GateConfigArgs, finding: &ConfigFinding) -> String {
    let ConfigFinding { place, what, .. } = finding;
    match (finding.line, finding.column) {
        (Some(line), Some(column)) => {
            format!("{}:{line}:{column}: {place}: {what}", name(from))
        }
        _ => format!("{place}: {what}"),
    }
}

/// The name that errors use for the configuration.
pub(super) fn name(from: &GateConfigArgs) -> String {
    match &from.config {
        Some(path) => path.display().to_string(),
        None => "the configuration without a file".into(),
    }
}
