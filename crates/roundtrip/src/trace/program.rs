//! `roundtrip trace -- COMMAND`: runs a program as usual, and explains its exchanges when it has
//! ended.

use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use roundtrip_model::Exchange;
use roundtrip_report::{html, json as results, text};
use roundtrip_tap::{Sight, Tap};
use roundtrip_trace::{Ranking, explain, json};
use serde_json::{Value, json};

use super::{COMPLAINTS, WHOLE};
use crate::child::{self, ChildError};
use crate::cli::TraceArgs;
use crate::output::{Outcome, OutputStream, failed, say};
use crate::page;
use crate::provenance::{self, stamped};

/// How many exchanges a page shows.
const ON_PAGE: usize = 200;
/// The largest number of exchanges that are kept. Further ones are only counted in the ranking.
const MAX_KEPT: usize = 10_000;

/// The tap's results while the program runs.
#[derive(Default)]
struct Collected {
    kept: Vec<Exchange>,
    ranking: Ranking,
    broken: Vec<String>,
    /// The number of missed limits that are not among those.
    more_broken: u64,
}

pub(super) fn run(args: &TraceArgs) -> Outcome {
    let Some((program, arguments)) = args.command.split_first() else {
        return Outcome::Usage("no COMMAND was given, after --".into());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let collected = Arc::new(Mutex::new(Collected::default()));
    let collects = Collects {
        collected: collected.clone(),
        limits: args.fail_if.clone(),
        streams: args.ndjson.then(|| Lines::new(args)),
    };
    let tap = match Tap::arm(&mut command, move |exchange| collects.take(exchange)) {
        Ok(tap) => tap,
        Err(error) => return failed(&error),
    };
    let ended = child::run(command, program, None);
    let sight = tap.finish();
    let (code, sight) = match (ended, sight) {
        (Ok(code), Ok(sight)) => (code, sight),
        // If the tap made the program fail, the tap's error gives the reason.
        (_, Err(error)) => return failed(&error),
        (Err(ChildError::NotRun { code, why }), _) => {
            say(&why);
            return Outcome::Of(code);
        }
        (Err(ChildError::Failed(why)), _) => return failed(&why),
    };
    let collected = std::mem::take(&mut *lock(&collected));
    let seen = ProgramResult {
        args,
        code,
        sight,
        collected,
    };
    if let Err(ended) = seen.show() {
        return ended;
    }
    for complaint in &seen.collected.broken {
        say(complaint);
    }
    if seen.collected.more_broken > 0 {
        let more = seen.collected.more_broken;
        say(&format!("and {more} more limits missed"));
    }
    if code == 0 && !seen.collected.broken.is_empty() {
        Outcome::LimitMissed
    } else {
        Outcome::Of(code)
    }
}

struct Collects {
    collected: Arc<Mutex<Collected>>,
    limits: Vec<roundtrip_model::Limit>,
    streams: Option<Lines>,
}

impl Collects {
    fn take(&self, mut exchange: Exchange) {
        explain(&mut exchange);
        let mut collected = lock(&self.collected);
        for limit in &self.limits {
            if let Some(value) = limit.broken_by(&exchange) {
                collected.more_broken += u64::from(collected.broken.len() >= COMPLAINTS);
                if collected.broken.len() < COMPLAINTS {
                    collected.broken.push(limit.complaint(value, &exchange));
                }
            }
        }
        collected.ranking.add_exchange(&exchange, None);
        if let Some(lines) = &self.streams {
            lines.write(&exchange);
        } else if collected.kept.len() < MAX_KEPT {
            collected.kept.push(exchange);
        }
    }
}

/// Writes one result a line, as soon as it is complete.
struct Lines(Option<Mutex<std::fs::File>>);

impl Lines {
    fn new(args: &TraceArgs) -> Self {
        // Whether it can be written was checked before.
        let file = args.output.as_ref();
        let file = file.and_then(|file| std::fs::File::create(file).ok());
        Self(file.map(Mutex::new))
    }

    fn write(&self, exchange: &Exchange) {
        use std::io::Write;
        let line = stamped(results::result(exchange)).to_string() + "\n";
        match &self.0 {
            Some(file) => {
                let mut file = lock(file);
                if let Err(error) = file.write_all(line.as_bytes()) {
                    say(&format!("a line was not written: {error}"));
                }
            }
            None => OutputStream::Err.print_json(&line),
        }
    }
}

/// The result for the program.
struct ProgramResult<'a> {
    args: &'a TraceArgs,
    code: u8,
    sight: Sight,
    collected: Collected,
}

impl ProgramResult<'_> {
    fn show(&self) -> Result<(), Outcome> {
        let mut all = self.collected.kept.clone();
        all.sort_by_key(|exchange| exchange.started);
        let args = self.args;
        let report = match (args.json, args.ndjson) {
            (true, _) => Some(format!("{:#}\n", stamped(self.document(&all)))),
            (false, true) => None,
            (false, false) => Some(self.text(&all)),
        };
        match (&args.output, report) {
            (_, None) => {}
            (Some(file), Some(report)) => std::fs::write(file, report).map_err(|error| {
                let file = file.display();
                failed(&format!("cannot write the report to {file}: {error}"))
            })?,
            (None, Some(report)) if args.json => OutputStream::Err.print_json(&report),
            (None, Some(report)) => OutputStream::Err.print(report),
        }
        if let Some(path) = &args.html {
            let shown = all.get(..ON_PAGE.min(all.len())).unwrap_or_default();
            let page = html::page(shown, &provenance::here());
            page::deliver(path, &page, true)?;
        }
        Ok(())
    }

    /// Like the document of a file's `trace`, with `tap` in place of `capture`.
    fn document(&self, all: &[Exchange]) -> Value {
        let command = self.args.command.iter();
        let command: Vec<_> = command.map(|word| word.to_string_lossy()).collect();
        let sight = &self.sight;
        json!({
            "schema": json::SCHEMA,
            "command": command,
            "exit_code": self.code,
            "tap": {
                "calls": sight.calls,
                "socket_calls": sight.socket_calls,
                "connections": sight.connections,
                "not_opened": sight.not_opened,
                "denied": sight.denied,
                "io_uring": sight.io_uring,
                "quic_datagrams": sight.quic_datagrams,
                "left_behind": sight.left_behind,
            },
            "results": all.iter().map(results::result).collect::<Vec<Value>>(),
            "summary": results::summary(all),
            "ranking": json::rank(&self.collected.ranking),
        })
    }

    fn text(&self, all: &[Exchange]) -> String {
        let args = self.args;
        let style = match args.output {
            Some(_) => roundtrip_report::terminal::Style::default(),
            None => OutputStream::Err.style(args.color),
        };
        let ranking = &self.collected.ranking;
        let mut out = format!(
            "roundtrip: {}, {}\n",
            counted(self.sight.connections, "connection"),
            counted(ranking.exchanges, "exchange"),
        );
        for note in self.sight.notes() {
            out.push_str("roundtrip: ");
            out.push_str(&note);
            out.push('\n');
        }
        let whole = !args.quiet && ranking.exchanges <= WHOLE;
        if whole {
            for exchange in all {
                out += "\n";
                out += &text::exchange(exchange, &style);
                if args.verbose {
                    out += &text::details(exchange, &style);
                }
            }
        } else if ranking.exchanges > 0 {
            out += &roundtrip_trace::text::ranking(ranking, &style);
        }
        out
    }
}

fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
