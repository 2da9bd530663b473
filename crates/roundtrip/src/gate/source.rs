//! Where the configuration comes from: a file, or the default without one.

use roundtrip_gate::GateError;
use roundtrip_gate::config::Config;

use crate::cli::GateConfigArgs;

pub(super) fn read(from: &GateConfigArgs) -> Result<Config, GateError> {
    match &from.config {
        Some(path) => Config::read(path),
        None => Config::default_run(),
    }
}

/// The name that errors use for it.
pub(super) fn name(from: &GateConfigArgs) -> String {
    match &from.config {
        Some(path) => path.display().to_string(),
        None => "the configuration without a file".into(),
    }
}
