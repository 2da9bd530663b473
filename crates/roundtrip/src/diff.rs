//! `roundtrip diff`: reads, compares and shows two files. `roundtrip_diff` decides what differs and
//! why.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use roundtrip_diff::{Diff, DiffError, MAX_REPORT, ReadError, Report, html, json, read, text};
use roundtrip_report::clean;

use crate::cli::DiffArgs;
use crate::output::{Outcome, OutputStream, failed, say};
use crate::page;
use crate::provenance::{self, stamped};

pub(crate) fn run(args: &DiffArgs) -> Outcome {
    if is_stdin(&args.a) && is_stdin(&args.b) {
        return Outcome::Usage(
            "both reports cannot come from standard input; name one file".into(),
        );
    }
    let reports = load(&args.a, args).and_then(|a| Ok((a, load(&args.b, args)?)));
    let (a, b) = match reports {
        Ok(reports) => reports,
        Err(message) => return failed(&message),
    };
    match Diff::new(&a, &b) {
        Ok(diff) => show(args, &diff),
        Err(error @ DiffError::Kinds { .. }) => Outcome::Usage(error.to_string()),
        Err(error) => failed(&error),
    }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The file's name, safe to show.
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

/// One line with the file and its error, safe to show: the error may quote any content of the file.
fn told(path: &Path, error: &ReadError) -> String {
    let message: String = clean(&error.to_string()).chars().take(400).collect();
    format!("{}: {message}", name(path))
}

/// Reads at most one byte more than a report may have; that byte shows that the report is too
/// large.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let from: Box<dyn Read> = if is_stdin(path) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path)?)
    };
    let mut bytes = Vec::new();
    from.take(MAX_REPORT as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn show(args: &DiffArgs, diff: &Diff) -> Outcome {
    let broken = match diff.broken(&args.fail_if) {
        Ok(broken) => broken,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    let files = (name(&args.a), name(&args.b));
    let files = (files.0.as_str(), files.1.as_str());
    if args.json {
        let document = stamped(json::document(diff, files));
        OutputStream::Out.print_json(&format!("{document:#}\n"));
    } else {
        let page = text::TextOptions {
            style: OutputStream::Out.style(args.color),
            files,
            quiet: args.quiet,
            verbose: args.verbose,
        };
        OutputStream::Out.print(text::render(diff, &page));
    }
    if let Some(file) = &args.html {
        let made = html::page(diff, files, &provenance::here());
        if let Err(ended) = page::deliver(file, &made, true) {
            return ended;
        }
    }
    for (limit, broken) in &broken {
        say(&format!("limit missed: {limit} ({})", broken.0));
    }
    if broken.is_empty() {
        Outcome::Done
    } else {
        Outcome::LimitMissed
    }
}
