//! The known faults, read from `lab/faults.toml`.

use roundtrip_origin::Knobs;
use serde::Deserialize;

use super::cost::ExpectedCost;
use super::{FaultsError, foreign, names, peer};
use crate::experiment::knobs;

const FILE: &str = include_str!("../../../../lab/faults.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultsFile {
    fault: Vec<FaultEntry>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FaultEntry {
    pub(super) cause: String,
    pub(super) strategies: Vec<String>,
    #[serde(default)]
    pub(super) amount: Option<[u64; 2]>,
    pub(super) costs: String,
    #[serde(default)]
    pub(super) slack: f64,
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
    pub(super) pause: Option<String>,
    #[serde(default)]
    pub(super) first_hop: bool,
    #[serde(default)]
    pub(super) first: Option<FirstAddress>,
    #[serde(default)]
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) expect: bool,
    #[serde(default)]
    pub(super) cookie: Option<String>,
    #[serde(default)]
    pub(super) body: Option<String>,
    #[serde(default)]
    pub(super) names: Option<names::NameServerFault>,
    #[serde(default)]
    pub(super) peer: Option<peer::PeerKind>,
    #[serde(default)]
    pub(super) late: Option<String>,
    #[serde(default)]
    pub(super) client_sysctl: Vec<String>,
    #[serde(default)]
    pub(super) server_sysctl: Vec<String>,
    #[serde(default)]
    pub(super) stopped: Option<String>,
    #[serde(default)]
    pub(super) output: Option<String>,
    #[serde(default)]
    pub(super) server: Option<foreign::ForeignKind>,
    #[serde(default)]
    pub(super) far: bool,
    #[serde(default)]
    pub(super) beside: Option<Beside>,
    #[serde(default)]
    pub(super) alone: bool,
    #[serde(default)]
    pub(super) not_with: Vec<String>,
}

/// A second cause that the fault inevitably injects too.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Beside {
    pub(super) cause: String,
    pub(super) costs: String,
}

/// The state of the first address of the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FirstAddress {
    /// An address that no host has.
    Dead,
    /// The server's host, on a port where nothing listens.
    Refusing,
}

pub(super) fn all() -> Result<Vec<FaultEntry>, FaultsError> {
    let file: FaultsFile =
        toml::from_str(FILE).map_err(|error| FaultsError::Entry(error.to_string()))?;
    Ok(file.fault)
}

impl FaultEntry {
    /// The settings that the fault changes; no other fault may change them.
    pub(super) fn settings(&self) -> Vec<&str> {
        let name = |text: &'static str, is: bool| is.then_some(text);
        let sysctls = self.client_sysctl.iter().chain(&self.server_sysctl);
        let words = self.knobs.iter().chain(&self.path).chain(sysctls);
        let words = words.filter_map(|said| said.split('=').next());
        let rest = [
            name("place", self.place.is_some()),
            name("hello", self.hello_delay.is_some()),
            name("cold", self.cold),
            name("runs", self.runs.is_some()),
            // The addresses come from the name servers, too.
            name("names", self.first.is_some()),
            name("expect", self.expect),
            name("cookie", self.cookie.is_some()),
            name("names", self.names.is_some()),
            name("late", self.late.is_some()),
            name("stopped", self.stopped.is_some()),
            name("output", self.output.is_some()),
            name("server", self.server.is_some()),
        ];
        words.chain(rest.into_iter().flatten()).collect()
    }

    /// Whether the programs that the fault needs are installed.
    pub(super) fn is_possible(&self) -> bool {
        self.server.is_none_or(foreign::ForeignKind::is_installed)
    }

    pub(super) fn cost(&self) -> Result<ExpectedCost, FaultsError> {
        ExpectedCost::parse(&self.costs).map_err(FaultsError::Entry)
    }

    /// Every cause that the fault injects, with its cost.
    pub(super) fn costs(&self) -> Result<Vec<(String, ExpectedCost)>, FaultsError> {
        let mut all = vec![(self.cause.clone(), self.cost()?)];
        if let Some(beside) = &self.beside {
            let cost = ExpectedCost::parse(&beside.costs).map_err(FaultsError::Entry)?;
            all.push((beside.cause.clone(), cost));
        }
        Ok(all)
    }
}

/// Parses flags of `roundtrip origin`, written without dashes.
pub(super) fn knobs(said: &[String]) -> Result<Knobs, FaultsError> {
    let flags = said.iter().map(|flag| format!("--{flag}"));
    knobs::parse(flags).map_err(|error| FaultsError::Entry(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_possible() {
        for entry in all().unwrap() {
            let told = &entry.cause;
            assert!(roundtrip_explain::by_id(told).is_some(), "{told}");
            let all: Result<Vec<roundtrip_model::Strategy>, _> =
                entry.strategies.iter().map(|word| word.parse()).collect();
            assert!(!all.unwrap().is_empty(), "{told}");
            for other in &entry.not_with {
                assert!(roundtrip_explain::by_id(other).is_some(), "{told}: {other}");
            }
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
                path.set(word, &value.replace("@amount@", "20")).unwrap();
            }
            for said in entry.client_sysctl.iter().chain(&entry.server_sysctl) {
                assert!(said.contains('='), "{told}: {said}");
            }
        }
    }
}
