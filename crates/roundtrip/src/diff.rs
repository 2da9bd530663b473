//! `roundtrip diff`: two files are read, compared and shown. What differs and why is `roundtrip_diff`'s.

mod page;
mod terminal;
mod words;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use roundtrip_diff::{
    Broken, DoctorDiff, LARGEST, Limit, LimitError, ProbeDiff, ReadError, Report, json, read,
};
use roundtrip_report::clean;

use crate::cli::DiffArgs;
use crate::output::{Outcome, Stream, failed};

pub(crate) fn run(args: &DiffArgs) -> Outcome {
    if is_stdin(&args.a) && is_stdin(&args.b) {
        return Outcome::Usage(
            "both reports cannot come from standard input; name one file".into(),
        );
    }
    let reports = load(&args.a, args).and_then(|a| Ok((a, load(&args.b, args)?)));
    let diff = match reports {
        Ok((Report::Probe(a), Report::Probe(b))) => {
            ProbeDiff::of(&a, &b).map(|diff| Diff::Probe(Box::new(diff)))
        }
        Ok((Report::Doctor(a), Report::Doctor(b))) => Some(Diff::Doctor(DoctorDiff::of(&a, &b))),
        Ok((a, b)) => {
            let (a, b) = (kind(&a), kind(&b));
            let message = format!("A is a report of {a}, B one of {b}; compare two of a kind");
            return Outcome::Usage(message);
        }
        Err(message) => return failed(&message),
    };
    match diff {
        Some(diff) => show(args, &diff),
        None => failed(&"nothing was measured on one side"),
    }
}

/// A comparison of either kind.
enum Diff {
    Probe(Box<ProbeDiff>),
    Doctor(DoctorDiff),
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The file's name as it may be shown.
fn name(path: &Path) -> String {
    if is_stdin(path) {
        return "standard input".into();
    }
    clean(&path.display().to_string())
}

fn load(path: &Path, args: &DiffArgs) -> Result<Report, String> {
    let bytes = bytes(path).map_err(|error| format!("cannot read {}: {error}", name(path)))?;
    // A doctor report has no URLs to choose from.
    read(&bytes, args.url.as_deref()).map_err(|error| told(path, &error))
}

/// One line: the file, and what is wrong with it. What it cites of the file may be anything.
fn told(path: &Path, error: &ReadError) -> String {
    let message: String = clean(&error.to_string()).chars().take(400).collect();
    format!("{}: {message}", name(path))
}

/// As many as a report may have, and one more, which tells that it is larger.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let from: Box<dyn Read> = if is_stdin(path) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path)?)
    };
    let mut bytes = Vec::new();
    from.take(LARGEST as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn kind(report: &Report) -> &'static str {
    match report {
        Report::Probe(_) => "probe",
        Report::Doctor(_) => "doctor",
    }
}

fn show(args: &DiffArgs, diff: &Diff) -> Outcome {
    let broken = match judge(&args.fail_if, diff) {
        Ok(broken) => broken,
        Err(error) => return Outcome::Usage(clean(&error.to_string())),
    };
    let files = (name(&args.a), name(&args.b));
    let files = (files.0.as_str(), files.1.as_str());
    if args.json {
        let document = match diff {
            Diff::Probe(diff) => json::probe(diff, files),
            Diff::Doctor(diff) => json::doctor(diff, files),
        };
        Stream::Out.print(format!("{document:#}\n"));
    } else {
        let page = terminal::Page {
            style: Stream::Out.style(args.color),
            files,
            quiet: args.quiet,
            verbose: args.verbose,
        };
        Stream::Out.print(match diff {
            Diff::Probe(diff) => page.probe(diff),
            Diff::Doctor(diff) => page.doctor(diff),
        });
    }
    if let Some(file) = &args.html {
        let text = match diff {
            Diff::Probe(diff) => page::probe(diff, files),
            Diff::Doctor(diff) => page::doctor(diff, files),
        };
        if let Err(ended) = crate::page::deliver(file, &text, true) {
            return ended;
        }
    }
    for (limit, Broken(value)) in &broken {
        Stream::Err.print(format!("roundtrip: limit missed: {limit} ({value})\n"));
    }
    if broken.is_empty() {
        Outcome::Done
    } else {
        Outcome::LimitMissed
    }
}

fn judge<'a>(limits: &'a [Limit], diff: &Diff) -> Result<Vec<(&'a Limit, Broken)>, LimitError> {
    let mut broken = Vec::new();
    for limit in limits {
        let by = match diff {
            Diff::Probe(diff) => limit.broken_by(diff),
            Diff::Doctor(diff) => limit.broken_by_doctor(diff)?,
        };
        broken.extend(by.map(|by| (limit, by)));
    }
    Ok(broken)
}
