//! Repeats: one live line for each run, and a summary block at the end.

use roundtrip_model::{Exchange, PhaseName, Summary};
use serde_json::Value;

use super::bars::{filled, legend};
use super::blocks;
use crate::first::First;
use crate::numbers::decimals;
use crate::run::{Run, runs};
use crate::series::Series;
use crate::terminal::{Style, Tone, clean, cut, finished};

const BAR: usize = 16;

/// One run in one line: number, status, time, round trips, waits and the connection's peer. A full
/// bar stands for `full_ms`, so that slow runs stand out; `None` gives every run a full bar.
pub fn line(run: &Run, full_ms: Option<f64>, style: &Style) -> String {
    let Some(last) = run.last() else {
        return String::new();
    };
    let seq = style.right(Tone::Faint, &(last.run + 1).to_string(), 5);
    if let Some(failure) = run.failure() {
        let room = style.columns().saturating_sub(15);
        let what = format!("{}: {}", failure.phase.title(), clean(&failure.message));
        return format!(
            "{seq}  {}  {}\n",
            style.paint(Tone::Bad, "failed"),
            style.paint(Tone::Plain, &cut(&what, room))
        );
    }
    let (status, tone) = match &last.http {
        Some(http) if http.status >= 400 => (http.status.to_string(), Tone::Warn),
        Some(http) => (http.status.to_string(), Tone::Good),
        None => ("ok".to_owned(), Tone::Good),
    };
    let total = run.total_ms();
    let mut text = format!(
        "{seq}  {}  {}{}",
        style.left(tone, &status, 3),
        style.right(Tone::Strong, &format!("{total:.2} ms"), 12),
        style.right(Tone::Plain, &format!("{} RT", run.round_trips()), 7),
    );
    let columns = style.columns();
    if columns >= 56 {
        text.push_str("  ");
        let share = full_ms
            .filter(|f| *f > 0.0)
            .map_or(1.0, |f| (total / f).min(1.0));
        let cells = (share * BAR as f64).round().max(1.0) as usize;
        text.push_str(&filled(style, &run.waited(), cells));
        text.push_str(&" ".repeat(BAR - cells));
    }
    if columns >= 80 {
        text.push_str("  ");
        text.push_str(&style.paint(Tone::Faint, &cut(&whom(run, last), columns - 36 - BAR)));
    }
    text.push('\n');
    text
}

fn whom(run: &Run, last: &Exchange) -> String {
    let peer = match (&last.tcp, &last.quic) {
        (Some(tcp), _) => tcp.peer,
        (None, Some(quic)) => quic.peer,
        (None, None) => None,
    };
    let mut parts = vec![last.used.to_string()];
    parts.extend(peer.map(|p| p.to_string()));
    if last.reused {
        parts.push("reused".into());
    }
    if run.hops.len() > 1 {
        parts.push(crate::numbers::count(
            run.hops.len() as u64 - 1,
            "redirect",
            "redirects",
        ));
    }
    parts.join(" · ")
}

/// The summary of many runs: success rate, statistics for the total and each phase, and the spread
/// of the totals.
pub fn summary(exchanges: &[Exchange], style: &Style) -> String {
    let all: Vec<Run> = runs(exchanges).collect();
    let good: Vec<&Run> = all.iter().filter(|r| r.ok()).collect();
    let mut lines = vec![headline(style, &all, good.len())];
    lines.extend(failures(style, &all));
    let totals: Vec<f64> = good.iter().map(|r| r.total_ms()).collect();
    if let Some(total) = Summary::from_samples(&totals) {
        lines.push(String::new());
        lines.extend(table(style, &good, &total));
        lines.push(String::new());
        lines.extend(spread(style, &totals, &total));
        lines.extend(trip_counts(style, &good));
        lines.extend(explained(style, &all, decimals(total.max)));
        let first = First::from_runs(&all).filter(First::stands_out);
        lines.extend(first.map(|f| {
            let told = cut(&f.told(), style.columns() - 2);
            format!("  {}", style.paint(Tone::Plain, &told))
        }));
    }
    finished(&lines)
}

/// The path, the waits, and how often each cause was found.
fn explained(style: &Style, all: &[Run], places: usize) -> Vec<String> {
    let series = Series::new(all);
    let mut lines = Vec::new();
    if let Some(path) = series.path_told() {
        let label = style.left(Tone::Faint, "path", 17);
        let path = cut(&path, style.columns() - 20);
        lines.push(format!("  {label}{}", style.paint(Tone::Plain, &path)));
    }
    lines.push(String::new());
    lines.push(format!(
        "  {}",
        style.paint(Tone::Faint, "what it waited for (medians)")
    ));
    lines.extend(legend(style, &series.waited, None, places));
    let found = blocks::series(style, &series);
    if !found.is_empty() {
        lines.push(String::new());
        lines.extend(found);
    }
    lines
}

fn headline(style: &Style, all: &[Run], ok: usize) -> String {
    let rate = if all.is_empty() {
        0.0
    } else {
        100.0 * ok as f64 / all.len() as f64
    };
    let tone = if ok == all.len() {
        Tone::Good
    } else {
        Tone::Bad
    };
    format!(
        "{}  {}",
        style.paint(
            Tone::Strong,
            &crate::numbers::count(all.len() as u64, "request", "requests")
        ),
        style.paint(tone, &format!("{ok} succeeded ({rate:.1} %)")),
    )
}

fn failures(style: &Style, all: &[Run]) -> Vec<String> {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for failure in all.iter().filter_map(Run::failure) {
        let Ok(Value::String(kind)) = serde_json::to_value(failure.kind) else {
            continue;
        };
        match kinds.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, n)) => *n += 1,
            None => kinds.push((kind, 1)),
        }
    }
    kinds
        .iter()
        .map(|(kind, n)| {
            format!(
                "  {} {}",
                style.right(Tone::Bad, &n.to_string(), 5),
                style.paint(Tone::Plain, kind)
            )
        })
        .collect()
}

/// The columns of the table. If the table is too wide, the last columns are dropped first.
type Column = (&'static str, fn(&Summary) -> f64);
const COLUMNS: [&[Column]; 3] = [
    &[
        ("min", |s| s.min),
        ("median", |s| s.median),
        ("mean", |s| s.mean),
        ("p90", |s| s.p90),
        ("p99", |s| s.p99),
        ("max", |s| s.max),
    ],
    &[("median", |s| s.median), ("p90", |s| s.p90)],
    &[("median", |s| s.median)],
];

fn table(style: &Style, good: &[&Run], total: &Summary) -> Vec<String> {
    let columns = style.columns();
    let label = if columns >= 60 { 17 } else { 15 };
    let places = decimals(total.max);
    let number = format!("{:.places$}", total.max).len().max(6) + 2;
    let fits = |c: &&&[Column]| 2 + label + c.len() * number + 4 <= columns;
    let shown = COLUMNS.iter().find(fits).copied().unwrap_or_default();

    let mut head = format!("  {}", " ".repeat(label));
    for (title, _) in shown {
        head.push_str(&style.right(Tone::Faint, title, number));
    }
    head.push_str(&style.paint(Tone::Faint, "  ms"));
    let row = |name: &str, tone: Tone, s: &Summary| {
        let mut line = format!("  {}", style.left(tone, name, label));
        for (_, value) in shown {
            let value = format!("{:.places$}", value(s));
            line.push_str(&style.right(tone, &value, number));
        }
        line
    };
    let mut lines = vec![head, row("total", Tone::Strong, total)];
    let first: Vec<f64> = good.iter().filter_map(|r| r.first_byte_ms()).collect();
    if let Some(s) = Summary::from_samples(&first) {
        lines.push(row("to first byte", Tone::Plain, &s));
    }
    for name in PhaseName::ALL {
        let samples: Vec<f64> = good.iter().filter_map(|r| r.phase_ms(name)).collect();
        if let Some(s) = Summary::from_samples(&samples) {
            lines.push(row(&format!("  {}", name.title()), Tone::Plain, &s));
        }
    }
    lines
}

/// A histogram in one line, from the fastest to the slowest.
fn spread(style: &Style, totals: &[f64], total: &Summary) -> Vec<String> {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if totals.len() < 3 || total.max <= total.min {
        return Vec::new();
    }
    let places = decimals(total.max);
    let ends = (
        format!("{:.places$}", total.min),
        format!("{:.places$} ms", total.max),
    );
    let bins = (style.columns() - 2 - 17 - ends.0.len() - ends.1.len() - 4).min(48);
    let mut counts = vec![0usize; bins.max(1)];
    let last = counts.len() - 1;
    for value in totals {
        let place = (value - total.min) / (total.max - total.min) * counts.len() as f64;
        if let Some(count) = counts.get_mut((place as usize).min(last)) {
            *count += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let bars: String = counts
        .iter()
        .map(|n| LEVELS.get((n * 8).div_ceil(most)).copied().unwrap_or('█'))
        .collect();
    vec![format!(
        "  {}{} {} {}",
        style.left(Tone::Faint, "spread of total", 17),
        style.paint(Tone::Plain, &ends.0),
        style.paint(Tone::Of(crate::party::Party::Network), &bars),
        style.paint(Tone::Plain, &ends.1)
    )]
}

fn trip_counts(style: &Style, good: &[&Run]) -> Vec<String> {
    let mut counts: Vec<(u32, usize)> = Vec::new();
    for run in good {
        let trips = run.round_trips();
        match counts.iter_mut().find(|(t, _)| *t == trips) {
            Some((_, n)) => *n += 1,
            None => counts.push((trips, 1)),
        }
    }
    counts.sort_unstable();
    let words: Vec<String> = counts
        .iter()
        .map(|(t, n)| format!("{t} in {n} of {}", good.len()))
        .collect();
    vec![format!(
        "  {}{}",
        style.left(Tone::Faint, "round trips", 17),
        style.paint(Tone::Plain, &cut(&words.join(", "), style.columns() - 20))
    )]
}
