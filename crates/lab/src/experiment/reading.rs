//! Builds an experiment from the text of a file; errors name the line.

mod cells;
mod parts;
mod transfer;

use roundtrip_model::excerpt;
use std::collections::BTreeSet;
use std::ops::Range;

use super::format::ExperimentFile;

use super::{Claim, Experiment, Measure};
use crate::claim::{ClaimScope, Expression};
use crate::error::{ExperimentError, ExperimentErrorKind};
use cells::Cells;

/// An error without its line.
pub(super) struct UnplacedError {
    at: Range<usize>,
    what: ExperimentErrorKind,
}

/// Adds the position to an error.
pub(super) trait At<T> {
    fn at(self, place: Range<usize>) -> Result<T, UnplacedError>;
}

impl<T, E: Into<ExperimentErrorKind>> At<T> for Result<T, E> {
    fn at(self, at: Range<usize>) -> Result<T, UnplacedError> {
        self.map_err(|what| UnplacedError {
            at,
            what: what.into(),
        })
    }
}

pub(super) fn refuse<T>(at: Range<usize>, what: ExperimentErrorKind) -> Result<T, UnplacedError> {
    Err(UnplacedError { at, what })
}

/// Reads an experiment. Errors call the text `file`.
pub fn read(name: &str, file: &str, text: &str) -> Result<Experiment, ExperimentError> {
    let placed = |at: usize, what| ExperimentError {
        file: file.to_owned(),
        line: line_of(text, at),
        what,
    };
    let parsed: ExperimentFile = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        placed(
            at,
            ExperimentErrorKind::Format(error.message().replace('\n', "; ")),
        )
    })?;
    understand(name, parsed).map_err(|flaw| placed(flaw.at.start, flaw.what))
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    1 + before.filter(|byte| **byte == b'\n').count()
}

const MAX_RUNS: u32 = 10_000;
const MAX_REQUESTS: u32 = 100_000;
const MAX_AT_ONCE: u32 = 1000;

fn understand(name: &str, file: ExperimentFile) -> Result<Experiment, UnplacedError> {
    let path = parts::words(&file.path)?;
    limited("runs", *file.runs.get_ref(), MAX_RUNS, file.runs.span())?;
    limited("requests", file.requests, MAX_REQUESTS, 0..0)?;
    let cells = Cells::from_file(&file, &path)?;
    let sweeps = cells.sweeps(&file)?;
    let measured = cells.measured(&file)?;
    let mut arms: Vec<String> = measured.iter().map(|cell| cell.name.clone()).collect();
    let swept = sweeps.iter().flat_map(|sweep| &sweep.points);
    arms.extend(swept.flat_map(|point| point.cells.iter().map(|(_, cell)| cell.name.clone())));
    let unit = file
        .unit
        .clone()
        .unwrap_or_else(|| unit(file.measure).into());
    let scene = ClaimScope {
        arms: &arms,
        in_ms: unit == "ms",
        has_rtt: path.rtt().is_some(),
    };
    let mut claims = Vec::new();
    for claim in &file.claim {
        let expression = Expression::parse(claim.holds.get_ref(), scene).at(claim.holds.span())?;
        claims.push(Claim {
            text: claim.text.clone(),
            expression,
            published: claim.published,
        });
    }
    Ok(Experiment {
        name: name.to_owned(),
        directory: None,
        question: file.question,
        article: file.article,
        measure: file.measure,
        unit,
        runs: *file.runs.get_ref(),
        path,
        cells: measured,
        sweeps,
        published: file.published,
        claims,
    })
}

fn unit(measure: Measure) -> &'static str {
    match measure {
        Measure::Cost => "s/GB",
        _ => "ms",
    }
}

fn limited(
    what: &'static str,
    value: u32,
    most: u32,
    at: Range<usize>,
) -> Result<(), UnplacedError> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    refuse(at, ExperimentErrorKind::Range(what, 1, most))
}

/// The known names, for an error about an unknown one.
fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    names.join(", ")
}

fn sole(
    known: &mut BTreeSet<String>,
    kind: &'static str,
    name: &toml::Spanned<String>,
) -> Result<(), UnplacedError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-+.@_/ ".contains(c);
    let text = name.get_ref();
    if text.is_empty() || text.len() > 60 || !text.chars().all(allowed) || text.trim() != text {
        return refuse(name.span(), ExperimentErrorKind::Name(excerpt(text, 60)));
    }
    if known.insert(text.clone()) {
        return Ok(());
    }
    refuse(name.span(), ExperimentErrorKind::Twice(kind, text.clone()))
}

#[cfg(test)]
mod tests;
