//! `roundtrip lab run faults`: tests `explain` with injected faults.

use roundtrip_lab::Stop;
use roundtrip_lab::faults::{self, FaultsError, Gauntlet, GauntletPlan};

use super::progress;
use super::stop_when_told;
use crate::cli::LabRunArgs;
use crate::output::{Outcome, deliver, failed};
use crate::status::{DELAY, Status};

/// The goals for the catalogue: the share of faults whose cause is named first, and the number of
/// healthy exchanges in which at most one false alarm may occur.
const GOAL: f64 = 0.95;
const HEALTHY_FOR_AN_ALARM: usize = 500;

pub(super) fn run(args: &LabRunArgs) -> Outcome {
    let stop = Stop::default();
    if let Err(error) = stop_when_told(&stop) {
        return failed(&error);
    }
    let plan = GauntletPlan {
        count: args.count as usize,
        seed: args.seed,
        record: args.record.clone(),
        only: args.only.clone(),
    };
    if let Some(directory) = &plan.record
        && let Err(error) = std::fs::create_dir_all(directory)
    {
        return failed(&format!("cannot make {}: {error}", directory.display()));
    }
    let mut status = Status::new(args.quiet).after(DELAY);
    let gauntlet = faults::run(&plan, &stop, |done, arm| {
        let of = plan.count;
        let reached = roundtrip_lab::ExperimentProgress { done, of, arm };
        status.show(|took| progress::line(faults::NAME, &reached, took));
    });
    status.hide();
    match gauntlet {
        Ok(gauntlet) => show(args, &gauntlet),
        Err(error @ FaultsError::Unknown(..)) => Outcome::Usage(error.to_string()),
        Err(error) => failed(&error),
    }
}

fn show(args: &LabRunArgs, gauntlet: &Gauntlet) -> Outcome {
    let text = if args.json {
        match serde_json::to_string_pretty(gauntlet) {
            Ok(document) => document + "\n",
            Err(error) => return failed(&error),
        }
    } else {
        faults::text::render(gauntlet)
    };
    let quiet = args.quiet && !args.json;
    if let Err(ended) = deliver(&text, args.json, args.output.as_deref(), quiet) {
        return ended;
    }
    let only_healthy = gauntlet.controls == gauntlet.cases.len();
    let found = only_healthy || gauntlet.first_named >= GOAL;
    let good = found && gauntlet.false_alarms <= gauntlet.controls / HEALTHY_FOR_AN_ALARM;
    if good && !gauntlet.interrupted {
        Outcome::Done
    } else {
        Outcome::Failed
    }
}
