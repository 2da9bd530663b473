//! A log for a terminal: the critical path, the slowest requests, and what the log does not show.

use std::fmt::Write as _;

use roundtrip_report::terminal::{Cell, Style, Table, Tone, clean, wrap};
use roundtrip_report::{count, ms};
use roundtrip_wire::witness::page::CriticalStep;
use roundtrip_wire::witness::{ToldPhase, ToldRequest};

use super::{Log, PHASES, REMEDIES, length, millis, name, took};

const INDENT: usize = 2;
/// Rows of a table.
const MAX_ROWS: usize = 12;
const MAX_STEPS: usize = 40;
/// The shortest step that is shown, in milliseconds.
const MIN_SHOWN: f64 = 0.05;

/// One line about the log.
pub fn head(file: &str, log: &Log) -> String {
    let witness = &log.witness;
    let ends = witness.requests.iter().map(|r| r.begin + length(r));
    let mut parts = vec![
        count(witness.requests.len() as u64, "request", "requests"),
        count(
            witness.connections.len() as u64,
            "connection",
            "connections",
        ),
    ];
    if let Some(end) = ends.max() {
        parts.push(format!("{:.1} s", millis(end) / 1e3));
    }
    format!(
        "{}: {}, {}\n",
        clean(file),
        log.format.as_str(),
        parts.join(", ")
    )
}

/// The parts that were not read, one line each.
pub fn caveats(log: &Log) -> Vec<String> {
    let mut lines = Vec::new();
    if log.witness.damaged > 0 {
        lines.push(format!(
            "{} entries of the log cannot be read and were skipped",
            log.witness.damaged
        ));
    }
    if log.witness.is_cut {
        lines.push("the log has no end: it was still being written, or was cut".to_owned());
    }
    lines
}

pub fn report(log: &Log, is_short: bool, style: &Style) -> String {
    let mut out = String::new();
    if log.page.is_some() {
        out += &critical(log, is_short, style);
        out += &remedies(log, style);
    }
    if !log.witness.requests.is_empty() {
        out += &slowest(log, style);
    }
    out += &transport(log, style);
    for (what, needs) in log.undecidable() {
        let line = format!("not decidable from this log: {what}; it needs {needs}");
        let room = style.columns().saturating_sub(INDENT);
        for (n, line) in wrap(&line, room).iter().enumerate() {
            let indent = if n == 0 { 0 } else { INDENT };
            let _ = writeln!(out, "{:indent$}{line}", "");
        }
    }
    out
}

/// The chain of requests that ended last.
fn critical(log: &Log, is_short: bool, style: &Style) -> String {
    let Some(page) = &log.page else {
        return String::new();
    };
    let mut out = format!(
        "\nThe critical path: {} ms, {} at least\n",
        ms(millis(page.length())),
        count(
            log.round_trips().unwrap_or(0).into(),
            "round trip",
            "round trips"
        ),
    );
    let steps: Vec<&CriticalStep> = page
        .critical
        .iter()
        .filter(|s| took_of(s) >= MIN_SHOWN)
        .collect();
    let most = if is_short { MAX_ROWS } else { MAX_STEPS };
    let mut longest = steps.clone();
    longest.sort_by(|a, b| took_of(b).total_cmp(&took_of(a)));
    longest.truncate(most);
    longest.sort_by_key(|step| step.begin);
    let first = page.critical.first().map_or(0, |step| step.begin);
    let mut table = Table::new(INDENT);
    table.line(Tone::Faint, ["at", "took", "", ""].map(Cell::plain));
    for step in &longest {
        table.row([
            Cell::plain(ms(millis(step.begin.saturating_sub(first)))),
            Cell::new(Tone::Plain, ms(took_of(step))),
            Cell::plain(step.phase.map_or("not in the log", name)),
            Cell::long(Tone::Plain, about(log, step)),
        ]);
    }
    out += &table.fitted(style);
    if longest.len() < steps.len() {
        let _ = writeln!(out, "  and {} shorter steps", steps.len() - longest.len());
    }
    out
}

fn took_of(step: &CriticalStep) -> f64 {
    millis(step.end.saturating_sub(step.begin))
}

/// The request of a step, and what it waited for.
pub(super) fn about(log: &Log, step: &CriticalStep) -> String {
    let url = |index: usize| {
        let request = log.witness.requests.get(index);
        request.map_or(String::new(), |request| clean(&request.url))
    };
    let mut words = url(step.request);
    if let Some(holder) = step.holder {
        let _ = write!(words, "  behind {}", url(holder));
    }
    let request = log.witness.requests.get(step.request);
    if step.phase == Some(ToldPhase::Queue)
        && let Some(reason) = request.and_then(|request| request.queued_for.as_deref())
    {
        let _ = write!(words, " ({})", clean(reason));
    }
    words
}

/// How long the load would have taken otherwise.
fn remedies(log: &Log, style: &Style) -> String {
    let Some(page) = &log.page else {
        return String::new();
    };
    let mut table = Table::new(INDENT);
    let mut is_empty = true;
    for (remedy, phases) in REMEDIES {
        let Some(left) = log.without(phases) else {
            continue;
        };
        let saved = millis(page.length().saturating_sub(left));
        if saved >= 1.0 {
            is_empty = false;
            table.row([
                Cell::plain(ms(millis(left))),
                Cell::plain(format!("−{}", ms(saved))),
                Cell::long(Tone::Plain, remedy),
            ]);
        }
    }
    if is_empty {
        return String::new();
    }
    format!("\nThe load, in milliseconds, with\n{}", table.fitted(style))
}

fn slowest(log: &Log, style: &Style) -> String {
    let all = log.slowest();
    let mut out = "\nRequests, the slowest first, in milliseconds\n".to_owned();
    let mut table = Table::new(INDENT);
    table.line(
        Tone::Faint,
        ["begins", "took", "", "mostly", ""].map(Cell::plain),
    );
    for request in all.iter().take(MAX_ROWS) {
        let status = request.status.map_or("–".to_owned(), |s| s.to_string());
        table.row([
            Cell::plain(ms(millis(request.begin))),
            Cell::plain(ms(millis(length(request)))),
            Cell::plain(if request.error.is_some() {
                "failed".to_owned()
            } else {
                status
            }),
            Cell::plain(mostly(request)),
            Cell::long(Tone::Plain, clean(&request.url)),
        ]);
    }
    out += &table.fitted(style);
    if all.len() > MAX_ROWS {
        let _ = writeln!(out, "  and {} more", all.len() - MAX_ROWS);
    }
    if let Some(first) = all.first()
        && let (Some(wait), Some(trip), Some(beyond)) = (
            took(first, ToldPhase::Wait),
            log.round_trip(first),
            log.beyond(first),
        )
        && millis(beyond) >= 1.0
    {
        let _ = writeln!(
            out,
            "  The slowest waited {} ms for its answer. Opening a connection to that server took {} ms,\n  \
             a round trip; nothing in the log shows where the other {} ms were spent.",
            ms(millis(wait)),
            ms(millis(trip)),
            ms(millis(beyond)),
        );
    }
    out
}

/// The two longest phases.
pub(super) fn mostly(request: &ToldRequest) -> String {
    let mut phases: Vec<(u64, ToldPhase)> = PHASES
        .into_iter()
        .filter_map(|phase| Some((took(request, phase)?, phase)))
        .filter(|(took, _)| *took > 0 && took.saturating_mul(50) >= length(request))
        .collect();
    phases.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    let words: Vec<String> = phases
        .iter()
        .take(2)
        .map(|(took, phase)| format!("{} {}", name(*phase), ms(millis(*took))))
        .collect();
    words.join(", ")
}

/// The facts about connections in a qlog.
fn transport(log: &Log, style: &Style) -> String {
    let mut table = Table::new(INDENT);
    let titles = [
        "connection",
        "sent",
        "received",
        "lost",
        "blocked",
        "RTT, ms",
        "window, bytes",
    ];
    table.line(Tone::Faint, titles.map(Cell::plain));
    let mut rows = 0;
    for (index, connection) in log.witness.connections.iter().enumerate() {
        if connection.events.is_empty() || rows >= MAX_ROWS {
            continue;
        }
        rows += 1;
        let told = log.transport(index);
        let range = |least: Option<String>, most: Option<String>| match (least, most) {
            (Some(least), Some(most)) if least != most => format!("{least} – {most}"),
            (least, most) => least.or(most).unwrap_or_else(|| "–".to_owned()),
        };
        let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes.to_string());
        let lost = if told.lost > 0 {
            Tone::Problem
        } else {
            Tone::Plain
        };
        table.row([
            Cell::plain(clean(&connection.id).chars().take(16).collect::<String>()),
            Cell::plain(told.sent.to_string()),
            Cell::plain(told.received.to_string()),
            Cell::new(lost, told.lost.to_string()),
            Cell::plain(told.blocked.to_string()),
            Cell::plain(range(told.min_rtt.map(ms), told.max_rtt.map(ms))),
            Cell::plain(range(bytes(told.min_window), bytes(told.max_window))),
        ]);
    }
    if rows == 0 {
        return String::new();
    }
    format!(
        "\nConnections, as seen from their own end\n{}",
        table.fitted(style)
    )
}
