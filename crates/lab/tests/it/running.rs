//! The runner: random blocks that a seed decides, failures that spare the other arms, and an early
//! end on interruption.

use roundtrip_lab::experiment::read;
use roundtrip_lab::{Experiment, LabError, RunOptions, Stop};

use crate::run;

const CHEAP: &str = "
question = 'Does it run?'
article = 'none'
measure = 'total'
runs = 4
baseline = 'a'
[[server]]
name = 'origin'
knobs = {}
[[arm]]
name = 'a'
strategy = 'h1+clear'
[[arm]]
name = 'b'
strategy = 'h1+clear'
";

fn cheap(more: &str) -> Experiment {
    read("cheap", "cheap.toml", &format!("{CHEAP}{more}")).unwrap()
}

fn order(seed: u64) -> Vec<String> {
    let options = RunOptions {
        seed,
        ..RunOptions::default()
    };
    let mut order = Vec::new();
    let mut note =
        |progress: roundtrip_lab::ExperimentProgress<'_>| order.push(progress.arm.to_owned());
    roundtrip_lab::run(cheap(""), &options, &Stop::default(), &mut note).unwrap();
    order
}

#[test]
fn blocks_hold_every_arm_in_an_order_that_the_seed_decides() {
    let first = order(1);
    assert_eq!(first, order(1));
    assert_eq!(first.len(), 12);
    for block in first.chunks(3) {
        let mut block = block.to_vec();
        block.sort();
        assert_eq!(block, ["a", "a (A/A)", "b"]);
    }
    assert!((2..6).any(|seed| order(seed) != first));
}

#[test]
fn one_arm_s_failure_spares_the_others() {
    let experiment = cheap(
        "[[server]]\nname = 'broken'\nknobs = { fault = 'reset@request' }\n\
         [[server]]\nname = 'absent'\ncommand = ['no-such-server']\n\
         [[server]]\nname = 'dead'\ncommand = ['false']\n\
         [[arm]]\nname = 'reset'\nstrategy = 'h1+clear'\nserver = 'broken'\n\
         [[arm]]\nname = 'missing'\nstrategy = 'h1+clear'\nserver = 'absent'\n\
         [[arm]]\nname = 'ended'\nstrategy = 'h1+clear'\nserver = 'dead'\n\
         [[arm]]\nname = 'unheard-of'\nprogram = 'no-such-client'\nscheme = 'http'\n\
         [[claim]]\ntext = 'of the missing'\nholds = 'median(missing) > 0 ms'\n\
         [[claim]]\ntext = 'of a'\nholds = 'median(a) > 0 ms'\n\
         [[claim]]\ntext = 'that is wrong'\nholds = 'round_trips(a) == 7'\n",
    );
    let outcome = run(experiment, 2, None);
    assert!(!outcome.is_good());
    let told = |name: &str| {
        let arm = outcome.arm(name).unwrap();
        (
            arm.figures.runs,
            arm.failures.join(" "),
            arm.not_run.clone(),
        )
    };
    assert_eq!(told("a").0, 2);
    assert_eq!(told("b").0, 2);
    let (runs, failures, _) = told("reset");
    assert!(runs == 0 && failures.contains("request 1: "), "{failures}");
    let (runs, failures, _) = told("ended");
    assert!(
        runs == 0 && failures.contains("dead ended with"),
        "{failures}"
    );
    let missing = |name: &str, program: &str| {
        let why = format!("{program} is not installed (apt-get install {program})");
        assert_eq!(told(name), (0, String::new(), Some(why)));
    };
    missing("missing", "no-such-server");
    missing("unheard-of", "no-such-client");
    let verdicts: Vec<Option<bool>> = outcome.claims.iter().map(|claim| claim.holds).collect();
    assert_eq!(verdicts, [None, Some(true), Some(false)]);
}

#[test]
fn an_interrupted_run_has_its_results_so_far() {
    let stop = Stop::default();
    let mut left = 5;
    let mut seen = |_: roundtrip_lab::ExperimentProgress<'_>| {
        left -= 1;
        if left == 0 {
            stop.now();
        }
    };
    let outcome = roundtrip_lab::run(cheap(""), &RunOptions::default(), &stop, &mut seen).unwrap();
    assert!(outcome.interrupted);
    let samples: usize = outcome.arms.iter().map(|arm| arm.samples.len()).sum();
    assert!((3..=5).contains(&samples), "{samples}");
    let failures = outcome.arms.iter().any(|arm| !arm.failures.is_empty());
    assert!(!failures, "an interruption is not a failure");
}

#[test]
fn a_round_trip_that_no_arm_uses_is_refused() {
    let options = RunOptions {
        rtt: Some(std::time::Duration::from_millis(5)),
        ..RunOptions::default()
    };
    let experiment = roundtrip_lab::load("https-100ms").unwrap();
    let refused = roundtrip_lab::run(experiment, &options, &Stop::default(), &mut |_| {});
    assert!(
        matches!(refused, Err(LabError::OwnRoundTrips(_))),
        "{refused:?}"
    );
}
