//! The faults there are, read from `lab/faults.toml`.

use clap::Parser;
use roundtrip_origin::Knobs;
use serde::Deserialize;

use super::FaultsError;
use super::cost::Cost;

const FILE: &str = include_str!("../../../../lab/faults.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    fault: Vec<Entry>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Entry {
    pub(super) cause: String,
    pub(super) strategies: Vec<String>,
    #[serde(default)]
    pub(super) amount: Option<[u64; 2]>,
    pub(super) costs: String,
    #[serde(default)]
    pub(super) path: Vec<String>,
    #[serde(default)]
    pub(super) knobs: Vec<String>,
    #[serde(default)]
    pub(super) place: Option<String>,
    #[serde(default)]
    pub(super) hello_delay: Option<String>,
    #[serde(default)]
    pub(super) cold: bool,
    #[serde(default)]
    pub(super) runs: Option<u32>,
    #[serde(default)]
    pub(super) dead_first: bool,
}

pub(super) fn all() -> Result<Vec<Entry>, FaultsError> {
    let file: File = toml::from_str(FILE).map_err(|error| FaultsError::Entry(error.to_string()))?;
    Ok(file.fault)
}

impl Entry {
    pub(super) fn cost(&self) -> Result<Cost, FaultsError> {
        Cost::parse(&self.costs).map_err(FaultsError::Entry)
    }
}

/// Flags of `roundtrip origin`, without their dashes.
pub(super) fn knobs(said: &[String]) -> Result<Knobs, FaultsError> {
    #[derive(Debug, Parser)]
    #[command(no_binary_name = true, disable_help_flag = true)]
    struct Flags {
        #[command(flatten)]
        knobs: Knobs,
    }
    let flags = said.iter().map(|flag| format!("--{flag}"));
    Flags::try_parse_from(flags)
        .map(|flags| flags.knobs)
        .map_err(|error| FaultsError::Entry(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_can_be() {
        for entry in all().unwrap() {
            let told = &entry.cause;
            assert!(roundtrip_explain::by_id(told).is_some(), "{told}");
            let all: Result<Vec<roundtrip_model::Strategy>, _> =
                entry.strategies.iter().map(|word| word.parse()).collect();
            assert!(!all.unwrap().is_empty(), "{told}");
            let small = entry.cost().unwrap().ms(1, 1.0);
            assert!(small > 0.0, "{told}");
            let filled: Vec<String> = entry
                .knobs
                .iter()
                .map(|knob| knob.replace("@amount@", "20"))
                .collect();
            knobs(&filled).unwrap();
            let mut path = roundtrip_path::Path::builder();
            for said in &entry.path {
                let (word, value) = said.split_once('=').unwrap();
                path.set(word, value).unwrap();
            }
        }
    }
}
