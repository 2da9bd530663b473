//! `--every TIME --store FILE`: the same requests again and again, until they are stopped, each
//! round recorded as it ends.

use std::io;
use std::path::Path;
use std::time::Duration;

use roundtrip_history::{HistoryFile, Reading};
use roundtrip_model::{Exchange, FailureKind, Target};
use roundtrip_probe::{Options, Pace, Prober, repeat};
use roundtrip_report::{Run, runs, text};
use tokio::time::{MissedTickBehavior, interval};

use super::meaning::Meaning;
use crate::cli::ProbeArgs;
use crate::ctrl_c::Stop;
use crate::output::{Outcome, OutputStream, failed};
use crate::telemetry::Tracing;

pub(super) async fn record(
    args: &ProbeArgs,
    meaning: &Meaning,
    every: Duration,
    store: &Path,
) -> Outcome {
    let file = match HistoryFile::create(store) {
        Ok(file) => file,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    let tracing = match Tracing::start(&args.otlp, "roundtrip") {
        Ok(tracing) => tracing,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    let outcome = rounds(args, meaning, every, &file, &tracing).await;
    tracing.finish().await;
    outcome
}

async fn rounds(
    args: &ProbeArgs,
    meaning: &Meaning,
    every: Duration,
    file: &HistoryFile,
    tracing: &Tracing,
) -> Outcome {
    let mut stop = match Stop::listen() {
        Ok(stop) => stop,
        Err(error) => return failed(&error),
    };
    let mut rounds = interval(every);
    // A round that was missed is a gap, and not made up for.
    rounds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let style = OutputStream::Out.style(args.output.color);
    for round in 0.. {
        tokio::select! {
            _ = rounds.tick() => {}
            () = stop.told() => return Outcome::Done,
        }
        let mut readings = Vec::new();
        for (_, target) in &meaning.targets {
            // Each run of each target is a separate trace, unless a caller's trace contains them
            // all.
            let begun = tracing.begin();
            let options = Options {
                trace: begun.context,
                ..meaning.options.clone()
            };
            let mut hops = once(&options, target, stop.told()).await;
            let is_over = hops.iter().any(is_interrupted);
            if is_over || hops.is_empty() {
                return Outcome::Done;
            }
            // The ids of spans, which the servers have seen, count from the run's own number.
            tracing.end(&begun, &hops);
            for hop in &mut hops {
                hop.run = round;
            }
            for run in runs(&hops) {
                readings.extend(Reading::from_run(&run, every.as_secs()));
                tell(args, &run, &style);
            }
        }
        if let Err(error) = file.add(&readings) {
            return failed(&error);
        }
    }
    Outcome::Done
}

/// Makes one run, which starts as cold as the first: nothing is remembered from the run before.
pub(super) async fn once(
    options: &Options,
    target: &Target,
    stop: impl Future<Output = ()>,
) -> Vec<Exchange> {
    let mut prober = Prober::new(options.clone());
    let pace = Pace {
        count: 1,
        interval: Duration::ZERO,
    };
    let sink = |_| Ok(io::sink());
    let hops = repeat(&mut prober, target, pace, sink, stop, |_| ()).await;
    prober.retire().await;
    hops
}

fn is_interrupted(exchange: &Exchange) -> bool {
    let failure = exchange.failure.as_ref();
    failure.is_some_and(|failure| failure.kind == FailureKind::Interrupted)
}

fn tell(args: &ProbeArgs, run: &Run, style: &roundtrip_report::terminal::Style) {
    if !args.output.quiet {
        OutputStream::Out.print(text::line(run, None, style));
    }
}
