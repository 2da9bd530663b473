//! The traffic of a path, live and at the end: for people on standard error, which is shared with
//! the command, or as one document.

use std::time::{Duration, Instant};

use roundtrip_path::{DirectionCounters, Path, PathCounters};
use roundtrip_report::terminal::StatusLine;
use serde_json::{Value, json};

use super::{Ending, tell};
use crate::cli::PathArgs;
use crate::output::OutputStream;
use crate::provenance::{masked, stamped};

pub(super) fn give(counters: &PathCounters, args: &PathArgs, status: u8) -> Result<(), Ending> {
    if args.json {
        let document = format!("{:#}\n", document(counters, args, status));
        match &args.output {
            Some(file) => std::fs::write(file, document).map_err(|error| {
                Ending::Failed(format!("cannot write {}: {error}", file.display()))
            })?,
            None => OutputStream::Err.print_json(&document),
        }
    } else if !args.quiet {
        tell(format!(
            "up {}; down {}",
            crossed(&counters.up),
            crossed(&counters.down)
        ));
    }
    if args.verbose {
        tell(format!(
            "released late: up {}; down {}",
            lateness(&counters.up),
            lateness(&counters.down)
        ));
    }
    if let Some(fault) = counters.fell_behind() {
        tell(format!(
            "the relay fell behind: {fault}; do not trust the times of this run{}",
            advice(counters, args.offload)
        ));
    }
    Ok(())
}

/// A suggestion of what the relay could carry instead.
fn advice(counters: &PathCounters, offload: bool) -> &'static str {
    match counters.up.is_overloaded() || counters.down.is_overloaded() {
        false => "",
        true if offload => "; a lower rate is easier to carry",
        true => "; a lower rate is easier to carry, and --offload makes it cheaper",
    }
}

fn crossed(tally: &DirectionCounters) -> String {
    let packets = if tally.packets == 1 {
        "packet"
    } else {
        "packets"
    };
    let text = format!("{} {packets}, {}", tally.packets, bytes(tally.bytes));
    if tally.dropped == 0 {
        return text;
    }
    let causes = tally.causes.iter();
    let causes: Vec<String> = causes.map(|(cause, n)| format!("{cause} {n}")).collect();
    format!("{text}, {} lost ({})", tally.dropped, causes.join(", "))
}

fn bytes(n: u64) -> String {
    match n {
        0..1000 => format!("{n} B"),
        1000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.2} GB", n as f64 / 1e9),
    }
}

fn lateness(tally: &DirectionCounters) -> String {
    let lateness = tally.lateness;
    let us = |time: Duration| time.as_micros();
    format!(
        "{} µs (p50), {} µs (p99), {} µs (max)",
        us(lateness.p50),
        us(lateness.p99),
        us(lateness.max)
    )
}

fn document(counters: &PathCounters, args: &PathArgs, status: u8) -> Value {
    let words = args.words.0.iter();
    let words: Vec<Value> = words
        .map(|(word, value)| json!({ "word": word, "value": value }))
        .collect();
    let command: Vec<_> = args
        .command
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    stamped(json!({
        "schema": "roundtrip/path/1",
        "path": words,
        "offload": args.offload,
        "tun": args.tun,
        "command": masked(&command),
        "exit_code": status,
        "up": way(&counters.up),
        "down": way(&counters.down),
        "fell_behind": counters.fell_behind(),
    }))
}

fn way(tally: &DirectionCounters) -> Value {
    // Milliseconds with three decimals, as everywhere.
    let ms = |time: Duration| time.as_micros() as f64 / 1e3;
    json!({
        "packets": tally.packets,
        "bytes": tally.bytes,
        "delivered": tally.delivered,
        "dropped": tally.dropped,
        "causes": tally.causes,
        "missed": tally.missed,
        "oversized": tally.oversized,
        "late_p50_ms": ms(tally.lateness.p50),
        "late_p99_ms": ms(tally.lateness.p99),
        "late_max_ms": ms(tally.lateness.max),
    })
}

/// Shows a line each second, if requested. On a terminal, each line replaces the one before.
pub(super) struct PathMeter<'a> {
    path: &'a Path,
    began: Instant,
    last: Option<(Instant, [u64; 2])>,
    /// The line on the terminal; `None` if standard error is not a terminal.
    line: Option<StatusLine>,
}

impl<'a> PathMeter<'a> {
    pub(super) fn new(path: &'a Path) -> Self {
        Self {
            path,
            began: Instant::now(),
            last: None,
            line: (OutputStream::Err.is_terminal())
                .then(|| StatusLine::new(OutputStream::Err.line_width())),
        }
    }

    pub(super) fn show(&mut self) {
        let counters = self.path.counters();
        let (now, sums) = (Instant::now(), [counters.up.bytes, counters.down.bytes]);
        // The first call happens at once, and only starts the count.
        if let Some((then, before)) = self.last.replace((now, sums)) {
            let span = now.duration_since(then).as_secs_f64().max(1e-3);
            let rate = |now: u64, before: u64| {
                let bits = now.saturating_sub(before) as f64 * 8.0;
                format!("{:.3} Mbit/s", bits / span / 1e6)
            };
            let line = format!(
                "roundtrip: {:.0} s: up {} ({} packets), down {} ({} packets), lost {}",
                self.began.elapsed().as_secs_f64(),
                rate(sums[0], before[0]),
                counters.up.packets,
                rate(sums[1], before[1]),
                counters.down.packets,
                counters.up.dropped + counters.down.dropped,
            );
            let since = self.began.elapsed();
            OutputStream::Err.print(placed(line, self.line.as_mut(), since));
        }
    }
}

/// Formats a line. On a terminal, the next line replaces it: the cursor returns to its beginning,
/// so that the command's output does not continue it.
fn placed(text: String, line: Option<&mut StatusLine>, since: Duration) -> String {
    match line {
        Some(line) => line.show(since, || text).unwrap_or_default() + "\r",
        None => text + "\n",
    }
}

impl Drop for PathMeter<'_> {
    fn drop(&mut self) {
        let shown = self.line.as_mut().and_then(StatusLine::hide);
        if shown.is_some() {
            // From the cursor on: the command may have written to this line.
            OutputStream::Err.print("\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use roundtrip_report::terminal::width;

    use super::*;

    #[test]
    fn losses_are_told_by_cause() {
        let mut tally = DirectionCounters {
            packets: 12,
            bytes: 1_850,
            ..DirectionCounters::default()
        };
        assert_eq!(crossed(&tally), "12 packets, 1.9 kB");
        tally.dropped = 3;
        tally.causes.extend([("loss", 2), ("queue full", 1)]);
        assert_eq!(
            crossed(&tally),
            "12 packets, 1.9 kB, 3 lost (loss 2, queue full 1)"
        );
    }

    #[test]
    fn a_line_in_place_fits_the_terminal() {
        let line = "roundtrip: 12 s: up 940.000 Mbit/s (123456789 packets), down 0.123 Mbit/s";
        let placed = |line: &str, columns: Option<usize>| {
            let mut shown = columns.map(StatusLine::new);
            placed(line.to_owned(), shown.as_mut(), Duration::ZERO)
        };
        assert_eq!(placed(line, None), format!("{line}\n"));
        for columns in [0, 1, 20, 40, 200] {
            let text = placed(line, Some(columns));
            let shown = text
                .strip_prefix("\r\x1b[K")
                .and_then(|t| t.strip_suffix('\r'));
            assert!(
                width(shown.unwrap()) <= columns.saturating_sub(1),
                "{text:?}"
            );
        }
        assert_eq!(placed("all of it", Some(80)), "\r\x1b[Kall of it\r");
    }

    #[test]
    fn advice_fits_the_fault() {
        let mut counters = PathCounters::default();
        counters.up.oversized = 1;
        assert_eq!(advice(&counters, false), "");
        counters.down.missed = 1;
        assert!(advice(&counters, false).contains("--offload"));
        assert!(!advice(&counters, true).contains("--offload"));
    }
}
