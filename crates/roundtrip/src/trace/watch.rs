//! `roundtrip trace --watch`: connections of processes that are already running, as a table that is
//! redrawn in place on a terminal, and as one JSON object a line elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use roundtrip_model::Clock;
use roundtrip_net::SystemClock;
use roundtrip_report::terminal::{Cell, Table, Tone};
use roundtrip_tap::watch::{Sample, Watch, Watched};
use serde_json::{Value, json};

use crate::cli::TraceArgs;
use crate::output::{Outcome, OutputStream, failed, over};

/// A wait is split into pieces of this length, so that Ctrl-C ends it at once.
const PIECE: Duration = Duration::from_millis(20);
const INDENT: usize = 0;

pub(super) fn run(args: &TraceArgs, watched: Watched) -> Outcome {
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    if let Err(error) = crate::ctrl_c::at_the_first(move || told.store(true, Ordering::Relaxed)) {
        return failed(&format!("cannot wait for Ctrl-C: {error}"));
    }
    let clock = SystemClock::start();
    let began = Instant::now();
    let mut watch = Watch::new(watched);
    let mut screen = Screen::new(args);
    let mut samples = 0_u64;
    loop {
        let taken = Instant::now();
        match watch.sample(clock.now()) {
            Ok(Some(all)) => screen.show(&all, began.elapsed()),
            Ok(None) if samples == 0 => {
                return failed(&format!("there is no process {}", named(watched)));
            }
            Ok(None) => return Outcome::Done,
            Err(error) => {
                return failed(&format!("cannot watch {}: {error}", named(watched)));
            }
        }
        samples += 1;
        let next = taken + args.interval;
        while Instant::now() < next {
            let over = args.duration.is_some_and(|most| began.elapsed() >= most);
            if over || stop.load(Ordering::Relaxed) {
                return Outcome::Done;
            }
            thread::sleep(PIECE.min(next.saturating_duration_since(Instant::now())));
        }
    }
}

fn named(watched: Watched) -> String {
    match watched {
        Watched::Process(process) => process.to_string(),
        Watched::Port(port) => format!("port {port}"),
    }
}

struct Screen<'a> {
    args: &'a TraceArgs,
    /// The last table, if it can be redrawn in place.
    last: Option<String>,
}

impl<'a> Screen<'a> {
    fn new(args: &'a TraceArgs) -> Self {
        let draws = OutputStream::Out.is_terminal() && OutputStream::Out.draws();
        Self {
            args,
            last: (draws && !args.ndjson).then(String::new),
        }
    }

    fn show(&mut self, all: &[Sample], at: Duration) {
        match &mut self.last {
            Some(last) => {
                let style = OutputStream::Out.style(self.args.color);
                let rows = OutputStream::Out.rows().saturating_sub(3).max(1);
                let text = table(all, at, rows).fitted(&style);
                OutputStream::Out.print(over(last, &text));
                *last = text;
            }
            None => {
                for sample in all {
                    OutputStream::Out.print_json(&(line(sample, at).to_string() + "\n"));
                }
            }
        }
    }
}

fn table(all: &[Sample], at: Duration, rows: usize) -> Table {
    let mut table = Table::new(INDENT);
    let head = ["peer", "rtt ms", "min ms", "sent again", "suffers from"];
    table.line(Tone::Faint, head.map(Cell::plain));
    let ms = |span: Option<Duration>| match span {
        Some(span) => Cell::plain(format!("{:.1}", span.as_secs_f64() * 1e3)),
        None => Cell::plain("-"),
    };
    for sample in all.iter().take(rows) {
        let words: Vec<&str> = sample.symptoms.iter().map(|p| p.text.as_str()).collect();
        table.row([
            Cell::plain(sample.peer.to_string()),
            ms(sample.rtt),
            ms(sample.min_rtt),
            Cell::plain(sample.retransmits.to_string()),
            Cell::long(Tone::Plain, words.join("; ")),
        ]);
    }
    let more = all.len().saturating_sub(rows);
    let rest = match more {
        0 => String::new(),
        more => format!(", {more} of them not shown"),
    };
    let foot = format!(
        "{} connections after {:.1} s{rest}",
        all.len(),
        at.as_secs_f64()
    );
    table.line(Tone::Faint, [Cell::long(Tone::Faint, foot)]);
    table
}

fn line(sample: &Sample, at: Duration) -> Value {
    let ms = |span: Option<Duration>| span.map(|span| span.as_secs_f64() * 1e3);
    let symptoms = sample.symptoms.iter();
    json!({
        "schema": "roundtrip/watch/1",
        "at_ms": (at.as_secs_f64() * 1e6).round() / 1e3,
        "local": sample.local.to_string(),
        "peer": sample.peer.to_string(),
        "state": sample.state,
        "rtt_ms": ms(sample.rtt),
        "min_rtt_ms": ms(sample.min_rtt),
        "retransmits": sample.retransmits,
        "out_of_order": sample.out_of_order,
        "bytes_sent": sample.bytes_sent,
        "bytes_received": sample.bytes_received,
        "unread": sample.unread,
        "unacknowledged": sample.unsent,
        "suffers": symptoms
            .map(|symptom| json!({ "id": symptom.id, "text": symptom.text }))
            .collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use roundtrip_report::terminal::Style;

    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_connection_and_says_how_many_are_left_out() {
        let sample = Sample {
            local: ([127, 0, 0, 1], 4).into(),
            peer: ([127, 0, 0, 1], 443).into(),
            state: "ESTABLISHED",
            rtt: Some(Duration::from_millis(3)),
            min_rtt: None,
            retransmits: 2,
            out_of_order: 0,
            bytes_sent: 0,
            bytes_received: 0,
            unread: 0,
            unsent: 0,
            symptoms: Vec::new(),
        };
        let all = [sample.clone(), sample];
        let text = table(&all, Duration::from_secs(2), 1).whole(&Style::default());
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("127.0.0.1:443") && text.contains("3.0"));
        assert!(text.contains("2 connections after 2.0 s, 1 of them not shown"));
    }
}
