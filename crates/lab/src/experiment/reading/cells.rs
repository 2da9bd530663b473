//! Combines arms with variants and with the values of a sweep into the list of cells to measure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toml::Spanned;

use super::{
    At, ExperimentErrorKind, MAX_AT_ONCE, MAX_REQUESTS, MAX_RUNS, UnplacedError, limited, listed,
    parts, refuse, sole, transfer,
};
use crate::experiment::format::{self, ExperimentFile};
use crate::experiment::{Arm, ArmClient, Cell, Measure, PathWords, Sweep, SweepPoint};
use roundtrip_path::WordError;

/// The arms before any variant, in the order of the file.
pub(super) struct Cells {
    plain: Vec<Cell>,
    baseline: Option<String>,
}

impl Cells {
    pub(super) fn from_file(
        file: &ExperimentFile,
        path: &PathWords,
    ) -> Result<Self, UnplacedError> {
        let (mut names, mut servers) = (BTreeSet::new(), BTreeMap::new());
        let mut first = None;
        for server in &file.server {
            let made = Arc::new(parts::server(server, &servers)?);
            first.get_or_insert(made.clone());
            sole(&mut names, "server", &server.name)?;
            servers.insert(server.name.get_ref().clone(), made);
        }
        let (mut known, mut plain) = (BTreeSet::new(), Vec::new());
        for arm in &file.arm {
            sole(&mut known, "arm", &arm.name)?;
            let made = Arc::new(match &arm.transfer {
                Some(word) => transfer::arm(arm, word, file)?,
                None if file.measure == Measure::Cost => {
                    return refuse(arm.name.span(), ExperimentErrorKind::Cost);
                }
                None => parts::arm(arm, &file.client, &servers, first.as_ref())?,
            });
            plain.push(cell(file, arm, made, path)?);
        }
        if plain.is_empty() {
            return refuse(0..0, ExperimentErrorKind::Nothing("arm"));
        }
        let against = file.arm.iter().filter_map(|arm| arm.against.as_ref());
        let against = against.filter(|name| !name.get_ref().is_empty());
        for name in against.chain(&file.baseline) {
            exists(&plain, name)?;
        }
        let baseline = file.baseline.as_ref().map(|name| name.get_ref().clone());
        Ok(Self { plain, baseline })
    }

    /// The plain arms, then variants, then the control.
    pub(super) fn measured(&self, file: &ExperimentFile) -> Result<Vec<Cell>, UnplacedError> {
        let mut cells = if file.variants_only {
            Vec::new()
        } else {
            self.plain.clone()
        };
        let mut known = BTreeSet::new();
        for variant in &file.variant {
            sole(&mut known, "variant", &variant.name)?;
            let said = parts::words(&variant.path)?;
            let at = variant.name.span();
            let concurrency = variant.concurrency.unwrap_or(1);
            limited("concurrency", concurrency, MAX_AT_ONCE, at.clone())?;
            if variant.offload.is_some() && file.measure != Measure::Cost {
                return refuse(at, ExperimentErrorKind::Misplaced("offload", "transfer"));
            }
            for arm in variant.arms.iter().flatten() {
                exists(&self.plain, arm)?;
            }
            let chosen = |cell: &&Cell| match &variant.arms {
                None => true,
                Some(arms) => arms.iter().any(|arm| *arm.get_ref() == cell.name),
            };
            let chosen: Vec<&Cell> = self.plain.iter().filter(chosen).collect();
            let suffix = variant.name.get_ref();
            for cell in &chosen {
                let base = cell.against.as_ref();
                let within = base.filter(|name| chosen.iter().any(|c| c.name == **name));
                let varied = Cell {
                    name: format!("{}{suffix}", cell.name),
                    path: cell.path.with(&said),
                    offload: variant.offload.unwrap_or(cell.offload),
                    concurrency: variant.concurrency.unwrap_or(cell.concurrency),
                    // It is compared with the same variant of its baseline, if that is measured.
                    against: within
                        .map(|name| format!("{name}{suffix}"))
                        .or(cell.against.clone()),
                    packets: variant.packets.unwrap_or(cell.packets),
                    ..(*cell).clone()
                };
                transfer::check(&varied, variant.name.span())?;
                cells.push(varied);
            }
        }
        let names: Vec<String> = cells.iter().map(|cell| cell.name.clone()).collect();
        for cell in &mut cells {
            let held = cell.against.take();
            cell.against = held.filter(|name| names.contains(name) && *name != cell.name);
        }
        cells.extend(self.control(&cells));
        Ok(cells)
    }

    /// The baseline once more (or its first variant, if arms are measured in variants alone).
    fn control(&self, cells: &[Cell]) -> Option<Cell> {
        let baseline = self.baseline.as_ref()?;
        let same = cells.iter().find(|cell| cell.name == *baseline);
        let same = same.or_else(|| cells.iter().find(|cell| cell.name.starts_with(baseline)))?;
        Some(Cell {
            name: format!("{} (A/A)", same.name),
            against: Some(same.name.clone()),
            control: true,
            packets: false,
            ..same.clone()
        })
    }

    pub(super) fn sweeps(&self, file: &ExperimentFile) -> Result<Vec<Sweep>, UnplacedError> {
        file.sweep.iter().map(|sweep| self.sweep(sweep)).collect()
    }

    fn sweep(&self, sweep: &format::SweepTable) -> Result<Sweep, UnplacedError> {
        limited("runs", sweep.runs, MAX_RUNS, sweep.word.span())?;
        let mut points = Vec::new();
        for value in sweep.values.get_ref() {
            let value = parts::scalar(value).at(sweep.values.span())?;
            let mut cells = Vec::new();
            for arm in &sweep.arms {
                let cell = exists(&self.plain, arm)?;
                let moved = moved(cell, sweep, &value)?;
                cells.push((cell.name.clone(), moved));
            }
            points.push(SweepPoint { value, cells });
        }
        Ok(Sweep {
            word: sweep.word.get_ref().clone(),
            runs: sweep.runs,
            points,
        })
    }
}

fn cell(
    file: &ExperimentFile,
    arm: &format::ArmTable,
    made: Arc<Arm>,
    path: &PathWords,
) -> Result<Cell, UnplacedError> {
    let requests = arm.requests.unwrap_or(file.requests);
    limited("requests", requests, MAX_REQUESTS, arm.name.span())?;
    let against = arm.against.as_ref().or(file.baseline.as_ref());
    let cell = Cell {
        name: arm.name.get_ref().clone(),
        arm: made,
        path: path.with(&parts::words(&arm.path)?),
        requests,
        concurrency: 1,
        offload: file.transfer.offload,
        against: against
            .map(|name| name.get_ref().clone())
            .filter(|name| !name.is_empty()),
        control: false,
        packets: arm.packets,
    };
    transfer::check(&cell, arm.name.span())?;
    Ok(cell)
}

/// The cell at one value of a sweep.
fn moved(cell: &Cell, sweep: &format::SweepTable, value: &str) -> Result<Cell, UnplacedError> {
    let name = format!("{}@{value}", cell.name);
    let mut moved = Cell {
        name,
        against: None,
        packets: false,
        ..cell.clone()
    };
    if sweep.word.get_ref() == "requests" {
        if matches!(cell.arm.client, ArmClient::Transfer(_)) {
            return refuse(
                sweep.word.span(),
                ExperimentErrorKind::NoTransfer("requests"),
            );
        }
        let bad = || ExperimentErrorKind::Range("requests", 1, MAX_REQUESTS);
        moved.requests = value.parse().map_err(|_| bad()).at(sweep.values.span())?;
        limited(
            "requests",
            moved.requests,
            MAX_REQUESTS,
            sweep.values.span(),
        )?;
        return Ok(moved);
    }
    let mut said = PathWords::default();
    said.say(sweep.word.get_ref(), vec![value.to_owned()]);
    said.builder(0)
        .map_err(|error| match error {
            WordError::Unknown { .. } => ExperimentErrorKind::Sweep(error),
            WordError::Value { .. } => error.into(),
        })
        .at(sweep.values.span())?;
    moved.path = moved.path.with(&said);
    transfer::check(&moved, sweep.values.span())?;
    Ok(moved)
}

fn exists<'a>(cells: &'a [Cell], name: &Spanned<String>) -> Result<&'a Cell, UnplacedError> {
    let found = cells.iter().find(|cell| cell.name == *name.get_ref());
    found.ok_or_else(|| UnplacedError {
        at: name.span(),
        what: ExperimentErrorKind::Unknown(
            "arm",
            name.get_ref().clone(),
            listed(cells.iter().map(|cell| cell.name.as_str())),
        ),
    })
}
