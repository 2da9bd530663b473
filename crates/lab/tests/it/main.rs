//! Experiments over short paths: round trips match the arithmetic, the contract's keys exist, and a
//! failure spares the other arms.

#![allow(clippy::unwrap_used, clippy::panic)]

mod arithmetic;
mod contract;
mod faults;
mod guide;
mod load;
mod programs;
mod running;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod transfers;

use std::time::Duration;

use roundtrip_lab::experiment::ArmClient;
use roundtrip_lab::outcome::ArmOutcome;
use roundtrip_lab::{Experiment, LabOutcome, RunOptions, Stop, load};

use programs::lacks;

roundtrip_path::sandbox_before_main!();

/// Some arms of an experiment, over a shorter path and without its curves.
fn some_of(name: &str, arms: impl Fn(&str, &ArmClient) -> bool) -> Experiment {
    let mut experiment = load(name).unwrap();
    experiment
        .cells
        .retain(|cell| arms(&cell.name, &cell.arm.client));
    experiment.sweeps.clear();
    experiment
}

fn run(experiment: Experiment, runs: u32, rtt: Option<Duration>) -> LabOutcome {
    let options = RunOptions {
        runs: Some(runs),
        rtt,
        seed: 3,
        again: "again".into(),
    };
    roundtrip_lab::run(experiment, &options, &Stop::default(), &mut |_| {}).unwrap()
}

fn arm<'a>(outcome: &'a LabOutcome, name: &str) -> &'a ArmOutcome {
    let arm = outcome.arm(name).unwrap_or_else(|| panic!("no arm {name}"));
    assert!(arm.failures.is_empty(), "{name}: {:?}", arm.failures);
    assert_eq!(arm.not_run, None, "{name}");
    arm
}

/// The round trips of all requests of a run, if the arm's figure is an average over `requests`.
fn round_trips(outcome: &LabOutcome, name: &str, requests: u32) -> u32 {
    let each = arm(outcome, name).figures.round_trips.unwrap();
    (each * f64::from(requests)).round() as u32
}
