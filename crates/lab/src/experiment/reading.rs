//! Builds an experiment from the text of a file; errors name the line.

mod cells;
mod parts;
mod transfer;

use std::collections::BTreeSet;
use std::ops::Range;

use roundtrip_model::StrategyError;
use roundtrip_perf::PlanError;

use super::format::ExperimentFile;
use roundtrip_path::WordError;

use super::{Claim, Experiment, Measure};
use crate::claim::{ClaimError, ClaimScope, Expression};
use cells::Cells;

/// An error in a file, and its position.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct ExperimentError {
    pub file: String,
    pub line: usize,
    #[source]
    pub what: ExperimentErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum ExperimentErrorKind {
    #[error("{0}")]
    Format(String),
    #[error("{0}")]
    Strategy(#[from] StrategyError),
    #[error("the claim cannot be read: {0}")]
    Claim(#[from] ClaimError),
    #[error("the path cannot be: {0}")]
    Word(#[from] WordError),
    #[error("the origin has no such knob: {0}; `roundtrip origin --help` lists them")]
    Knob(String),
    #[error("there is no {0} '{1}'; there are {2}")]
    Unknown(&'static str, String, String),
    #[error("the {0} '{1}' exists twice; give each a unique name")]
    Twice(&'static str, String),
    #[error("'{0}' cannot be a name: names are letters, digits and - + . @ _")]
    Name(String),
    #[error("the transfer cannot be: {0}")]
    Transfer(#[from] PlanError),
    #[error("{0} says nothing to a transfer; it is for arms with a strategy or a program")]
    NoTransfer(&'static str),
    #[error(
        "what is measured of a transfer is `cost`, and of nothing else; measure says otherwise"
    )]
    Cost,
    #[error("say either time or bytes of the transfer, not both")]
    Amount,
    #[error("the arm '{0}' needs either a strategy, a program or a transfer")]
    Client(String),
    #[error("{0} is for arms with a {1}")]
    Misplaced(&'static str, &'static str),
    #[error("the server '{0}' needs either knobs (of the origin) or a command")]
    Server(String),
    #[error("{0} is not a value here; write a string, a number, or a list of them")]
    Value(String),
    #[error("{0} must be between {1} and {2}")]
    Range(&'static str, u32, u32),
    #[error("'{0}' is not a time span; write, for example, 120ms")]
    Span(String),
    #[error("the experiment has no {0}; add a [[{0}]]")]
    Nothing(&'static str),
    #[error("a sweep goes over 'requests' or over a word of the path")]
    Sweep(#[source] WordError),
}

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
        return refuse(
            name.span(),
            ExperimentErrorKind::Name(text.chars().take(60).collect()),
        );
    }
    if known.insert(text.clone()) {
        return Ok(());
    }
    refuse(name.span(), ExperimentErrorKind::Twice(kind, text.clone()))
}

#[cfg(test)]
mod tests;
