//! `roundtrip probe`: turns flags into options, and exchanges into reports.

mod asserted;
mod counted;
mod every;
mod meaning;
mod progress;
mod show;

use roundtrip_model::Exchange;
use roundtrip_probe::{Options, Prober, repeat};
use tokio::runtime::Builder;

use crate::cli::ProbeArgs;
use crate::output::{Outcome, interrupted};
use crate::qlog;
use crate::telemetry::Tracing;
use counted::Counted;
use meaning::Meaning;
pub(crate) use meaning::{UsageError, asked, check_writable, roots, target};
use progress::Progress;
use show::Show;

pub(crate) fn run(args: &ProbeArgs) -> Outcome {
    let meaning = match Meaning::from_args(args) {
        Ok(meaning) => meaning,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    if let Err(error) = qlog::start(&args.output.qlog) {
        return Outcome::Usage(error.to_string());
    }
    let counted = match Counted::read(&args.output) {
        Ok(counted) => counted,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Outcome::Usage(format!("cannot start: {error}")),
    };
    if let (Some(every), Some(store)) = (args.repeat.every, &args.repeat.store) {
        return runtime.block_on(every::record(args, &meaning, every, store));
    }
    runtime.block_on(ask(args, meaning, counted))
}

async fn ask(args: &ProbeArgs, meaning: Meaning, mut counted: Option<Counted>) -> Outcome {
    let tracing = match Tracing::start(&args.otlp, "roundtrip") {
        Ok(tracing) => tracing,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    let mut show = Show::new(args, meaning.template);
    let mut all: Vec<Exchange> = Vec::new();
    for (place, (given, target)) in meaning.targets.iter().enumerate() {
        show.proxied = meaning.options.proxy_for(target).is_some();
        let begun = tracing.begin();
        let mut prober = Prober::new(Options {
            trace: begun.context,
            ..meaning.options.clone()
        });
        let progress = Progress::start(args.output.quiet || args.repeat.count > 1);
        let exchanges = repeat(
            &mut prober,
            target,
            meaning.pace,
            |_| Ok(show::body_sink(args.output.output.as_deref(), &progress)),
            interrupted(),
            |hops| {
                progress.stop();
                show.seen(hops, given, place as u32);
            },
        )
        .await;
        progress.stop();
        prober.retire().await;
        tracing.end(&begun, &exchanges);
        show.target_done(&exchanges);
        if let Some(counted) = &mut counted {
            counted.judge(&exchanges, &meaning.options, target).await;
        }
        all.extend(exchanges);
    }
    tracing.finish().await;
    show.finish(&all, counted.as_ref())
}
