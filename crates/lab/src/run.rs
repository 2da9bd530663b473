//! Runs an experiment: reports missing programs, interleaves arms in seeded blocks, takes each
//! sample in new namespaces, and keeps failures of one arm from the others.
//!
//! `tools` finds and builds programs, `scene` is one path with one server, `hop` connects it to a
//! server behind a further path, `usage` reads the resource use of processes, `ours` and `program`
//! are the clients, `transfer` carries bytes without any of these, `tally` computes an
//! [`LabOutcome`] from the samples.

mod hop;
mod ours;
mod program;
mod scene;
mod server;
mod tally;
mod tools;
mod transfer;
mod usage;

use std::time::{Duration, Instant};

use roundtrip_model::{Random, blocks};
use roundtrip_path::Path;
use roundtrip_perf::Stop;

use crate::experiment::{Cell, Experiment};
use crate::{LabError, LabOutcome};
use scene::SampleError;
use tally::Collected;
use tools::Tools;
pub(crate) use tools::installed;

/// Settings of the command line that override those of an experiment.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    pub runs: Option<u32>,
    pub rtt: Option<Duration>,
    pub seed: u64,
    /// The command line that repeats the measurement.
    pub again: String,
}

/// The progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct ExperimentProgress<'a> {
    pub done: usize,
    pub of: usize,
    /// The arm that is measured next.
    pub arm: &'a str,
}

/// The number of failures without a success after which an arm is abandoned.
const MAX_FAILURES: usize = 2;

/// Runs the whole experiment. The process of an ordinary user must have entered the sandbox first.
pub fn run(
    mut experiment: Experiment,
    options: &RunOptions,
    stop: &Stop,
    progress: &mut dyn FnMut(ExperimentProgress<'_>),
) -> Result<LabOutcome, LabError> {
    let began = Instant::now();
    apply_options(&mut experiment, options)?;
    // If no path can be built, report it once, not for each arm.
    drop(Path::builder().build()?);
    let mut random = Random::seeded(options.seed);
    let mut runner = Runner {
        experiment: &experiment,
        tools: Tools::default(),
        stop,
        progress,
        done: 0,
        of: amount(&experiment),
        seed: options.seed,
    };
    let cells: Vec<&Cell> = experiment.cells.iter().collect();
    let mut main = runner.measure(&cells, experiment.runs, &mut random);
    runner.record(&cells, &mut main);
    let mut swept = Vec::new();
    for sweep in &experiment.sweeps {
        let points = sweep.points.iter().flat_map(|point| &point.cells);
        let cells: Vec<&Cell> = points.map(|(_, cell)| cell).collect();
        let runs = sweep.runs.min(experiment.runs);
        swept.push(runner.measure(&cells, runs, &mut random));
    }
    let mut outcome = tally::outcome(&experiment, &main, swept, &mut random);
    outcome.seed = options.seed;
    outcome.interrupted = stop.is_set();
    outcome.took_s = began.elapsed().as_secs_f64();
    outcome.again.clone_from(&options.again);
    Ok(outcome)
}

fn apply_options(experiment: &mut Experiment, options: &RunOptions) -> Result<(), LabError> {
    experiment.runs = options.runs.unwrap_or(experiment.runs);
    let Some(rtt) = options.rtt else {
        return Ok(());
    };
    let before = experiment.path.rtt();
    let swept = experiment
        .sweeps
        .iter_mut()
        .flat_map(|sweep| &mut sweep.points);
    let cells = experiment.cells.iter_mut();
    let all = cells.chain(swept.flat_map(|point| point.cells.iter_mut().map(|(_, cell)| cell)));
    let mut changed = 0;
    for cell in all.filter(|cell| cell.path.rtt() == before) {
        cell.path.take(rtt);
        changed += 1;
    }
    if changed == 0 {
        return Err(LabError::OwnRoundTrips(experiment.name.clone()));
    }
    experiment.path.take(rtt);
    Ok(())
}

/// The total number of samples.
fn amount(experiment: &Experiment) -> usize {
    let swept = experiment.sweeps.iter().map(|sweep| {
        let cells: usize = sweep.points.iter().map(|point| point.cells.len()).sum();
        cells * sweep.runs.min(experiment.runs) as usize
    });
    let recorded = experiment.cells.iter().filter(|cell| cell.packets).count();
    experiment.cells.len() * experiment.runs as usize + recorded + swept.sum::<usize>()
}

struct Runner<'a> {
    experiment: &'a Experiment,
    tools: Tools,
    stop: &'a Stop,
    progress: &'a mut dyn FnMut(ExperimentProgress<'_>),
    done: usize,
    of: usize,
    seed: u64,
}

impl Runner<'_> {
    /// Measures each cell once in each block, in an order shuffled for that block.
    fn measure(&mut self, cells: &[&Cell], runs: u32, random: &mut Random) -> Vec<Collected> {
        let mut all: Vec<Collected> = cells.iter().map(|_| Collected::default()).collect();
        for (run, block) in blocks(cells.len(), runs as usize, random)
            .iter()
            .enumerate()
        {
            for place in block {
                if self.stop.is_set() {
                    return all;
                }
                if let (Some(cell), Some(collected)) = (cells.get(*place), all.get_mut(*place)) {
                    self.sample(cell, run, collected);
                }
            }
        }
        all
    }

    fn sample(&mut self, cell: &Cell, run: usize, collected: &mut Collected) {
        self.advance(cell);
        let hopeless = collected.samples.is_empty() && collected.failures.len() >= MAX_FAILURES;
        if collected.not_run.is_some() || hopeless {
            return;
        }
        let seed = self.seed.wrapping_add(run as u64);
        let visit = scene::sample(self.experiment, cell, &mut self.tools, seed, self.stop);
        let taken = visit.and_then(|visit| {
            collected.seen.extend(visit.requests.map(|n| n as f64));
            visit.taken
        });
        match (taken, &cell.arm.fails) {
            (Ok(_), Some(expected)) => {
                let failure = format!("expected failure ('{expected}') did not happen");
                collected.failures.push(failure);
            }
            (Ok(taken), None) => collected.keep(run, taken),
            (Err(SampleError::Stopped), _) => {}
            (Err(SampleError::Missing(missing)), _) => {
                collected.not_run = Some(missing.to_string());
            }
            (Err(mishap), expected) => collected.fail(mishap.to_string(), expected.as_deref()),
        }
    }

    /// Makes one more run of the cells whose packets will be shown.
    fn record(&mut self, cells: &[&Cell], all: &mut [Collected]) {
        for (cell, collected) in cells.iter().zip(all) {
            if !cell.packets || self.stop.is_set() {
                continue;
            }
            self.advance(cell);
            if collected.not_run.is_some() || !collected.failures.is_empty() {
                continue;
            }
            let tools = &mut self.tools;
            match scene::record(self.experiment, cell, tools, self.seed, self.stop) {
                Ok(packets) => collected.packets = packets,
                Err(SampleError::Stopped) => {}
                Err(mishap) => collected.failures.push(format!("recorded: {mishap}")),
            }
        }
    }

    fn advance(&mut self, cell: &Cell) {
        let (done, of) = (self.done, self.of);
        (self.progress)(ExperimentProgress {
            done,
            of,
            arm: &cell.name,
        });
        self.done += 1;
    }
}
