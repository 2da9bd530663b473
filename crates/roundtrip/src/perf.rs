//! `roundtrip perf`: interprets the flags, measures, and reports.

mod far;
mod head;

use roundtrip_net::cpu::allowed_cpus;
use roundtrip_perf::plan::{Arm, Pin, Terrain};
use roundtrip_perf::{PerfError, PerfPlan, PlanError, Stop};
use roundtrip_report::terminal::Style;

use crate::cli::{PerfArgs, PerfCommand, Switch, TaskArgs};
use crate::output::{Outcome, OutputStream, deliver, failed};
use crate::provenance::stamped;
use crate::qlog;
use crate::status::{PACE, Status};
use crate::{ctrl_c, page};

/// The default arms. TLS occurs twice: QUIC is compared with equal writes, and the longer ones are
/// the cheapest way to use TLS.
const ALL: [&str; 4] = ["tcp", "tls", "tls+write256k", "quic"];

pub(crate) fn run(args: &PerfArgs) -> Outcome {
    match &args.command {
        None => here(args),
        Some(PerfCommand::Server { listen, cpu, once }) => far::serve(*listen, *cpu, *once),
        Some(PerfCommand::Client { host, task, cpu }) => far::visit(host, task, *cpu),
    }
}

/// Measures with both ends in this process.
fn here(args: &PerfArgs) -> Outcome {
    let plan = match meant(args) {
        Ok(plan) => plan,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    // Before there is any other thread: afterwards this is impossible.
    if let Err(error) = roundtrip_path::enter_sandbox() {
        return failed(&error);
    }
    measure(&args.task, |stop, watch| {
        roundtrip_perf::run_until(plan, stop, watch)
    })
}

fn meant(args: &PerfArgs) -> Result<PerfPlan, PlanError> {
    // If the system does not say, no side is pinned.
    let allowed = allowed_cpus().unwrap_or_default();
    let pin = args.pin.unwrap_or_else(|| Pin::among(&allowed));
    pin.check(&allowed)?;
    let offload = args.offload.map(|switch| switch == Switch::On);
    plan(&args.task, pin, Terrain::described(&args.path.0, offload)?)
}

fn plan(task: &TaskArgs, pin: Pin, terrain: Terrain) -> Result<PerfPlan, PlanError> {
    let is_default = task.arms.is_empty();
    let named: Vec<&str> = if is_default {
        ALL.to_vec()
    } else {
        task.arms.iter().map(String::as_str).collect()
    };
    let mut arms = Arm::read_all(named, &task.knobs.tuning(), task.knobs.engine)?;
    if is_default {
        // They are the same if `--write-size 256k` is given.
        arms.dedup();
    }
    let plan = PerfPlan {
        arms,
        work: task.work.work()?,
        rounds: task.work.rounds,
        pin,
        terrain,
    };
    plan.check()?;
    Ok(plan)
}

type Watch<'a> = dyn FnMut(roundtrip_perf::PerfProgress<'_>) + 'a;

fn measure(
    task: &TaskArgs,
    run: impl FnOnce(&Stop, &mut Watch<'_>) -> Result<roundtrip_perf::PerfOutcome, PerfError>,
) -> Outcome {
    let file = task.output.html.as_deref();
    if let Some(Err(why)) = file.map(page::can_be_written) {
        return Outcome::Usage(why);
    }
    if let Err(error) = qlog::start(&task.output.qlog) {
        return Outcome::Usage(error.to_string());
    }
    let stop = Stop::default();
    let stopping = stop.clone();
    if let Err(error) = ctrl_c::at_the_first(move || stopping.now()) {
        return failed(&format!("cannot wait for Ctrl-C: {error}"));
    }
    let mut status = Status::new(task.output.quiet).every(PACE);
    let measured = run(&stop, &mut |now| {
        if !now.elapsed.is_zero() {
            status.show(|_| how_fast(&now));
        }
    });
    status.hide();
    match measured {
        Ok(outcome) => show(task, &outcome),
        Err(error) => ending(&error),
    }
}

fn how_fast(now: &roundtrip_perf::PerfProgress<'_>) -> String {
    let gigabits = now.bytes as f64 * 8e-9 / now.elapsed.as_secs_f64();
    let (round, rounds, arm) = (now.round, now.rounds, now.arm);
    format!("perf: round {round} of {rounds}: {arm}, {gigabits:.2} Gbit/s")
}

fn show(task: &TaskArgs, outcome: &roundtrip_perf::PerfOutcome) -> Outcome {
    let output = &task.output;
    let text = if output.json {
        format!("{:#}\n", stamped(roundtrip_perf::json::document(outcome)))
    } else {
        let style = match &output.output {
            Some(_) => Style::default(),
            None => OutputStream::Out.style(output.color),
        };
        roundtrip_perf::text::render(outcome, style)
    };
    if let Err(ended) = deliver(&text, output.json, output.output.as_deref(), false) {
        return ended;
    }
    if let Some(file) = &output.html {
        let page = roundtrip_perf::html::page(outcome, &head::head());
        if let Err(ended) = page::deliver(file, &page, output.quiet) {
            return ended;
        }
    }
    if outcome.interrupted {
        return Outcome::Failed;
    }
    Outcome::Done
}

fn ending(error: &PerfError) -> Outcome {
    match error {
        error if error.is_usage() => Outcome::Usage(error.to_string()),
        error => failed(error),
    }
}
