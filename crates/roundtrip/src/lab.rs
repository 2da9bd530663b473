//! `roundtrip lab`: experiments found, run and shown.

mod faults;
mod progress;

use std::path::Path;

use roundtrip_lab::{Experiment, LabError, RunOptions, Stop};
use roundtrip_report::terminal::Style;
use serde_json::{Value, json};

use crate::cli::{LabArgs, LabCommand, LabRunArgs};
use crate::output::{Outcome, OutputStream, deliver, failed};
use crate::status::{DELAY, Status};
use crate::{ctrl_c, page, provenance};

pub(crate) fn run(args: &LabArgs) -> Outcome {
    match &args.command {
        LabCommand::List { json } => list(*json),
        LabCommand::Run(args) => measure(args),
    }
}

fn list(machine: bool) -> Outcome {
    let known: Result<Vec<Experiment>, LabError> =
        roundtrip_lab::names().map(roundtrip_lab::load).collect();
    let experiments = match known {
        Ok(experiments) => experiments,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    if machine {
        let list: Vec<Value> = experiments.iter().map(described).collect();
        let document = json!({ "schema": "roundtrip/lab/1", "experiments": list });
        OutputStream::Out.print_json(&format!("{document:#}\n"));
        return Outcome::Done;
    }
    for e in &experiments {
        let (name, arms) = (&e.name, e.cells.len());
        let lines = format!(
            "{name:<14} {}\n{:14} {} · {arms} arms, {} runs each\n",
            e.question, "", e.article, e.runs
        );
        OutputStream::Out.print(lines);
    }
    OutputStream::Out.print(
        "faults         Is the injected cause of an exchange the one that is named?\n\n\
         roundtrip lab run NAME, or a file of your own; `all` runs every one but faults\n",
    );
    Outcome::Done
}

fn described(e: &Experiment) -> Value {
    let arms: Vec<&str> = e.cells.iter().map(|cell| cell.name.as_str()).collect();
    let claims: Vec<&str> = e.claims.iter().map(|claim| claim.text.as_str()).collect();
    json!({
        "name": e.name,
        "question": e.question,
        "article": e.article,
        "path": e.path,
        "runs": e.runs,
        "arms": arms,
        "published": e.published,
        "claims": claims,
    })
}

fn measure(args: &LabRunArgs) -> Outcome {
    // Before there is any other thread: afterwards this is impossible.
    if let Err(error) = roundtrip_path::enter_sandbox() {
        return failed(&error);
    }
    if args.experiments == [roundtrip_lab::faults::NAME] {
        return faults::run(args);
    }
    let names = args
        .experiments
        .iter()
        .flat_map(|name| match name.as_str() {
            "all" => roundtrip_lab::names().map(str::to_owned).collect(),
            name => vec![name.to_owned()],
        });
    let names: Vec<String> = names.collect();
    let experiments: Result<Vec<Experiment>, LabError> =
        names.iter().map(|name| roundtrip_lab::load(name)).collect();
    let experiments = match experiments {
        Ok(experiments) => experiments,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    if let Some(Err(error)) = args.html.as_deref().map(page::can_be_written) {
        return Outcome::Usage(error);
    }
    let stop = Stop::default();
    if let Err(error) = stop_when_told(&stop) {
        return failed(&error);
    }
    let mut outcomes = Vec::new();
    for (name, experiment) in names.iter().zip(experiments) {
        if stop.is_set() {
            break;
        }
        let title = experiment.name.clone();
        let mut status = Status::new(args.quiet).after(DELAY);
        let options = options(args, name);
        let outcome = roundtrip_lab::run(experiment, &options, &stop, &mut |p| {
            status.show(|took| progress::line(&title, &p, took));
        });
        status.hide();
        match outcome {
            Ok(outcome) => outcomes.push(outcome),
            Err(error @ LabError::OwnRoundTrips(_)) => return Outcome::Usage(error.to_string()),
            Err(error) => return failed(&error),
        }
    }
    let shown = show(args, &outcomes);
    match write_page(args, &outcomes) {
        Ok(()) => shown,
        Err(told) => told,
    }
}

fn options(args: &LabRunArgs, name: &str) -> RunOptions {
    RunOptions {
        runs: args.runs,
        rtt: args.rtt,
        seed: args.seed,
        again: format!("roundtrip lab run {name} {}", settings(args)),
    }
}

/// The flags that decide what is measured.
fn settings(args: &LabRunArgs) -> String {
    let runs = args.runs.map(|runs| format!("--runs {runs}"));
    let rtt = args.rtt;
    let rtt = rtt.map(|rtt| format!("--rtt {}ms", rtt.as_secs_f64() * 1e3));
    let seed = Some(format!("--seed {}", args.seed));
    let said: Vec<String> = [runs, rtt, seed].into_iter().flatten().collect();
    said.join(" ")
}

fn write_page(args: &LabRunArgs, outcomes: &[roundtrip_lab::LabOutcome]) -> Result<(), Outcome> {
    let Some(file) = &args.html else {
        return Ok(());
    };
    let head = provenance::head(&provenance::machine(), command(args, file));
    let page = roundtrip_lab::html::page(outcomes, &head);
    page::deliver(file, &page, args.quiet)
}

fn show(args: &LabRunArgs, outcomes: &[roundtrip_lab::LabOutcome]) -> Outcome {
    let text = if args.json {
        match document(outcomes) {
            Ok(document) => format!("{:#}\n", provenance::stamped(document)),
            Err(error) => return failed(&error),
        }
    } else {
        let style = match &args.output {
            Some(_) => Style::default(),
            None => OutputStream::Out.style(args.color),
        };
        let reports = outcomes
            .iter()
            .map(|o| roundtrip_lab::text::render(o, style));
        reports.collect::<Vec<String>>().join("\n")
    };
    let quiet = args.quiet && !args.json;
    if let Err(ended) = deliver(&text, args.json, args.output.as_deref(), quiet) {
        return ended;
    }
    let good = outcomes.iter().all(|o| o.is_good() && !o.interrupted);
    if good { Outcome::Done } else { Outcome::Failed }
}

/// A single experiment is the document; several are members of it.
fn document(outcomes: &[roundtrip_lab::LabOutcome]) -> Result<Value, serde_json::Error> {
    match outcomes {
        [one] => serde_json::to_value(one),
        several => {
            let list = serde_json::to_value(several)?;
            Ok(json!({ "schema": "roundtrip/lab/1", "experiments": list }))
        }
    }
}

/// The first Ctrl-C stops the measurement and shows the results so far; the second ends the
/// process.
fn stop_when_told(stop: &Stop) -> std::io::Result<()> {
    let stop = stop.clone();
    ctrl_c::at_the_first(move || stop.now())
}

/// The command that makes the same page again.
fn command(args: &LabRunArgs, file: &Path) -> String {
    let mut words = vec!["roundtrip lab run".to_owned()];
    words.extend(args.experiments.iter().cloned());
    words.push(settings(args));
    words.push(format!("--html {}", file.display()));
    words.join(" ")
}
