//! The metrics in Prometheus' text exposition format 0.0.4. Names and labels are a contract.

use std::fmt::Write as _;

use roundtrip_model::Histogram;

use super::access_log::LogCounts;
use super::families::{FAMILIES, about};
use super::timer::DurationHistogram;
use super::{Gauge, LabelValue, Snapshot, Timer};

/// Buckets from 2¹⁰ ns (1 µs) to 2³⁶ ns (69 s), one for each power of two.
const POWERS: std::ops::RangeInclusive<u32> = 10..=36;

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Values that do not come from ledgers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Process {
    /// Seconds since 1970.
    pub(crate) started: u64,
    pub(crate) ready: bool,
    /// The counts of the access log, if there is one.
    pub(crate) log: Option<LogCounts>,
}

/// The whole text.
pub(crate) fn text(snapshot: &Snapshot, process: &Process) -> String {
    let mut text = String::with_capacity(32 * 1024);
    for family in &FAMILIES {
        let name = format!("roundtrip_gate_{}_total", family.name);
        head(&mut text, &name, family.about, "counter");
        for row in (family.rows)(snapshot) {
            line(&mut text, &name, &row.labels, row.value);
        }
    }
    if let Some(log) = &process.log {
        let name = "roundtrip_gate_access_log_lines_total";
        let about = "Lines of the access log: written, dropped because writing is slow, lost because writing failed.";
        head(&mut text, name, about, "counter");
        for (fate, value) in log.fates() {
            line(&mut text, name, &[("fate", fate)], value);
        }
    }
    for timer in Timer::ALL {
        durations(&mut text, *timer, snapshot.timer(*timer));
    }
    for gauge in Gauge::ALL {
        let value = snapshot.gauge(*gauge);
        let name = format!("roundtrip_gate_{}", gauge.as_str());
        plain(&mut text, &name, about(*gauge), value);
    }
    plain(
        &mut text,
        "roundtrip_gate_ready",
        "Whether gate is ready for requests.",
        process.ready.into(),
    );
    let started = "When gate started, in seconds since 1970.";
    plain(
        &mut text,
        "roundtrip_gate_start_time_seconds",
        started,
        process.started,
    );
    text
}

fn plain(text: &mut String, name: &str, about: &str, value: u64) {
    head(text, name, about, "gauge");
    line(text, name, &[], value);
}

/// The text is a constant and needs no escaping.
pub(crate) fn head(text: &mut String, name: &str, about: &str, kind: &str) {
    let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}");
}

pub(crate) fn line(text: &mut String, name: &str, labels: &[(&str, &str)], value: u64) {
    text.push_str(name);
    for (place, (label, word)) in labels.iter().enumerate() {
        let before = if place == 0 { '{' } else { ',' };
        let _ = write!(text, "{before}{label}=\"");
        for c in word.chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                c => text.push(c),
            }
        }
        text.push('"');
    }
    let after = if labels.is_empty() { "" } else { "}" };
    let _ = writeln!(text, "{after} {value}");
}

fn durations(text: &mut String, timer: Timer, spread: &DurationHistogram) {
    let name = format!("roundtrip_gate_{}_seconds", timer.as_str());
    head(text, &name, timer.about(), "histogram");
    for power in POWERS {
        // The last bucket below the power ends one nanosecond before it, so the count is exact.
        let end = (1_u64 << power) - 1;
        let count = spread.histogram.up_to(Histogram::bucket(end));
        let _ = writeln!(text, "{name}_bucket{{le=\"{}\"}} {count}", seconds(end));
    }
    let total = spread.histogram.total();
    let _ = writeln!(
        text,
        "{name}_bucket{{le=\"+Inf\"}} {total}\n{name}_sum {}\n{name}_count {total}",
        seconds(spread.sum)
    );
}

/// Writes nanoseconds as seconds, exactly.
fn seconds(nanoseconds: u64) -> String {
    let (whole, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    format!("{whole}.{rest:09}")
}

#[cfg(test)]
mod tests;
