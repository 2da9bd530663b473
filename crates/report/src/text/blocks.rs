//! The blocks under a waterfall: labelled facts, notes, findings and failures, wrapped to the
//! width.

use roundtrip_model::{Exchange, Failure, Finding};

use crate::facts::{carried, facts};
use crate::numbers;
use crate::series::Series;
use crate::terminal::{Style, Tone, clean, wrap};
use crate::unexplained;

const LABEL: usize = 15;

/// The reason of a failure and the advice, which come before the picture.
pub(super) fn failed(style: &Style, exchange: &Exchange) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(failure) = &exchange.failure {
        lines.extend(failure_block(style, failure));
        lines.push(String::new());
    }
    lines
}

/// The findings, separate from the facts below.
pub(super) fn verdict(style: &Style, exchange: &Exchange) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in &exchange.findings {
        lines.extend(finding_block(style, finding));
    }
    if let Some(told) = carried(exchange) {
        lines.extend(labelled(
            style,
            Tone::Faint,
            "under way",
            Tone::Plain,
            &told,
        ));
    }
    lines.extend(unexplained_block(style, exchange));
    lines.extend(notes_block(style, &exchange.notes));
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

pub(super) fn learnt(style: &Style, exchange: &Exchange) -> Vec<String> {
    facts(exchange)
        .iter()
        .flat_map(|fact| labelled(style, Tone::Faint, fact.label, Tone::Plain, &fact.value))
        .collect()
}

/// The causes that were found in a series, and the time that none of them explains.
pub(super) fn series(style: &Style, series: &Series) -> Vec<String> {
    let mut lines = Vec::new();
    for cause in &series.causes {
        let finding = cause.finding;
        let head = format!(
            "{}: {} (median), {}",
            clean(finding.id),
            cause.cost(),
            cause.how_often()
        );
        lines.extend(finding_lines(style, &head, finding));
    }
    if let Some(told) = series.unexplained_told() {
        lines.extend(labelled(
            style,
            Tone::Warn,
            "unexplained",
            Tone::Plain,
            &told,
        ));
    }
    let notes: Vec<String> = series.notes_told().collect();
    lines.extend(notes_block(style, &notes));
    lines
}

fn notes_block(style: &Style, notes: &[String]) -> Vec<String> {
    notes
        .iter()
        .flat_map(|note| labelled(style, Tone::Warn, "note", Tone::Plain, &clean(note)))
        .collect()
}

fn finding_block(style: &Style, finding: &Finding) -> Vec<String> {
    let trips = match finding.round_trips {
        0 => String::new(),
        n => format!(", {}", numbers::trips(n)),
    };
    let cost = format!("{} ms{trips}", numbers::ms(finding.ms));
    let head = format!("{} ({cost})", clean(finding.id));
    finding_lines(style, &head, finding)
}

fn finding_lines(style: &Style, head: &str, finding: &Finding) -> Vec<String> {
    let mut lines = labelled(style, Tone::Warn, "finding", Tone::Strong, head);
    lines.extend(labelled(
        style,
        Tone::Faint,
        "",
        Tone::Plain,
        &clean(&finding.evidence),
    ));
    if !finding.remedy.is_empty() {
        let remedy = clean(&finding.remedy);
        lines.extend(labelled(
            style,
            Tone::Good,
            "  remedy",
            Tone::Plain,
            &remedy,
        ));
        for setting in &finding.settings {
            let told = format!("{}: {}", setting.of, setting.is);
            lines.extend(labelled(style, Tone::Faint, "", Tone::Plain, &told));
        }
    }
    lines
}

fn unexplained_block(style: &Style, exchange: &Exchange) -> Vec<String> {
    let Some(told) = unexplained::told(exchange) else {
        return Vec::new();
    };
    let mut lines = labelled(style, Tone::Warn, "unexplained", Tone::Plain, &told);
    if let Some(advice) = unexplained::advice(exchange) {
        lines.extend(labelled(style, Tone::Good, "  try", Tone::Plain, advice));
    }
    lines
}

fn failure_block(style: &Style, failure: &Failure) -> Vec<String> {
    let what = format!("{}: {}", failure.phase.title(), clean(&failure.message));
    let mut lines = labelled(style, Tone::Bad, "failed", Tone::Plain, &what);
    if !failure.advice.is_empty() {
        lines.extend(labelled(
            style,
            Tone::Good,
            "  try",
            Tone::Plain,
            &clean(&failure.advice),
        ));
    }
    lines
}

/// A label, with its text wrapped beside it.
fn labelled(style: &Style, label_tone: Tone, label: &str, tone: Tone, value: &str) -> Vec<String> {
    let room = style.columns() - LABEL - 2;
    wrap(value, room)
        .iter()
        .enumerate()
        .map(|(n, part)| {
            let label = if n == 0 { label } else { "" };
            let label = style.left(label_tone, label, LABEL);
            format!("  {label}{}", style.paint(tone, part))
        })
        .collect()
}
