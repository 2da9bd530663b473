//! The binary: arguments → one call → exit code. Each verb has a file; the crates below do the
//! work.

mod causes;
mod child;
mod cli;
mod compare;
mod ctrl_c;
mod demo;
mod diff;
mod doctor;
mod exporter;
mod gate;
mod generate;
mod history;
mod lab;
mod log;
mod origin;
mod output;
mod page;
mod path;
mod perf;
mod probe;
mod provenance;
mod qlog;
mod rdap;
mod status;
mod telemetry;
mod trace;

use std::process::ExitCode;

use clap::Parser;
use roundtrip_report::terminal::{acts, clean_lines};

use cli::{Cli, Command};
use output::Outcome;

fn main() -> ExitCode {
    provenance::begin();
    let outcome = match typed().command {
        Command::Demo(args) => demo::run(&args),
        Command::Probe(args) => probe::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::History(args) => history::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Exporter(args) => exporter::run(&args),
        Command::Causes(args) => causes::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Rdap(args) => rdap::run(&args),
        Command::Gate(args) => gate::run(&args),
        Command::Origin(args) => origin::run(*args.0),
        Command::Path(args) => path::run(&args),
        Command::Perf(args) => perf::run(&args),
        Command::Man { directory } => generate::man(&directory),
        Command::Completions { shell } => generate::completions(shell),
    };
    if let Outcome::Usage(message) = &outcome {
        output::say(message);
    }
    ExitCode::from(outcome.code())
}

/// The typed arguments. Where they are wrong, clap quotes them unchanged, so quotes that could act
/// on a terminal are printed without colours.
fn typed() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        let acting = |word: std::ffi::OsString| word.to_string_lossy().contains(acts);
        if error.use_stderr() && std::env::args_os().any(acting) {
            eprint!("{}", clean_lines(&error.render().to_string()));
            std::process::exit(error.exit_code());
        }
        error.exit()
    })
}
