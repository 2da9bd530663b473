//! `roundtrip perf`: what is meant by the flags, the measuring, the report.

mod progress;

use std::path::Path;

use roundtrip_net::cpu::allowed_cpus;
use roundtrip_perf::plan::{Arm, Pin, Terrain};
use roundtrip_perf::{PerfError, Plan, PlanError};
use roundtrip_report::terminal::Style;

use crate::cli::{PerfArgs, Switch};
use crate::output::{Outcome, Stream, failed};
use progress::Progress;

/// What is measured where nothing was named: the ladder from no protection to the safest.
const ALL: [&str; 3] = ["tcp", "tls", "quic"];

pub(crate) fn run(args: &PerfArgs) -> Outcome {
    let plan = match plan(args) {
        Ok(plan) => plan,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    // Before there is any other thread: afterwards it cannot be done.
    if let Err(error) = roundtrip_path::enter_sandbox() {
        return failed(&error);
    }
    let mut progress = Progress::start(args.quiet);
    let measured = roundtrip_perf::run(plan, &mut |now| progress.show(now));
    progress.stop();
    match measured {
        Ok(outcome) => show(args, &outcome),
        Err(error) => ending(&error),
    }
}

fn plan(args: &PerfArgs) -> Result<Plan, PlanError> {
    let tuning = args.knobs.tuning();
    let read = |text: &str| Arm::read(text, &tuning, args.knobs.engine);
    let arms: Result<Vec<Arm>, PlanError> = match args.arms.is_empty() {
        true => ALL.into_iter().map(read).collect(),
        false => args.arms.iter().map(|text| read(text)).collect(),
    };
    let arms = arms?;
    tuning.refuse_idle(&arms)?;
    // Where the system does not tell, no side is kept anywhere.
    let allowed = allowed_cpus().unwrap_or_default();
    let pin = args.pin.unwrap_or_else(|| Pin::among(&allowed));
    pin.check(&allowed)?;
    let offload = args.offload.map(|switch| switch == Switch::On);
    let plan = Plan {
        arms,
        work: args.work.work()?,
        rounds: args.work.rounds,
        pin,
        terrain: Terrain::described(&args.path.0, offload)?,
    };
    plan.check()?;
    Ok(plan)
}

fn show(args: &PerfArgs, outcome: &roundtrip_perf::Outcome) -> Outcome {
    let text = if args.json {
        format!("{:#}\n", roundtrip_perf::json::document(outcome))
    } else {
        let style = match &args.output {
            Some(_) => Style::default(),
            None => Stream::Out.style(args.color),
        };
        roundtrip_perf::text::render(outcome, style)
    };
    match &args.output {
        Some(file) if file != Path::new("-") => {
            if let Err(error) = std::fs::write(file, text) {
                let file = file.display();
                return failed(&format!("cannot write the report to {file}: {error}"));
            }
        }
        _ => Stream::Out.print(text),
    }
    Outcome::Done
}

fn ending(error: &PerfError) -> Outcome {
    match error {
        error if error.is_usage() => Outcome::Usage(error.to_string()),
        error => failed(error),
    }
}
