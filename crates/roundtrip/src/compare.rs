//! `roundtrip compare`: turns flags into a configuration, and the comparison into a report.

use roundtrip_compare::{
    CompareConfig, Comparison, EndReason, RequestLimits, SessionProgress, html, json, text,
};
use roundtrip_probe::{Family, Options};
use tokio::runtime::Builder;

use crate::cli::CompareArgs;
use crate::output::{Outcome, OutputStream, failed, interrupted, note};
use crate::page;
use crate::probe::{UsageError, asked, check_writable, target};
use crate::provenance::{self, stamped};
use crate::status::Status;
use crate::trace::SeenExchange;

pub(crate) fn run(args: &CompareArgs) -> Outcome {
    if args.request.location {
        let why = "-L: compare asks one URL; give it the one that the redirects lead to";
        return Outcome::Usage(why.into());
    }
    let seen = match seen(args) {
        Ok(seen) => seen,
        Err(outcome) => return outcome,
    };
    let config = match config(args, seen.as_ref()) {
        Ok(config) => config,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    if let Err(error) = config.check() {
        return Outcome::Usage(error.to_string());
    }
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&format!("cannot start: {error}")),
    };
    if !args.output.quiet {
        let announced = text::announcement(&config);
        note("compare", &announced);
    }
    let mut status = Status::new(args.output.quiet);
    let compared = runtime.block_on(roundtrip_compare::compare(&config, interrupted(), |p| {
        status.show(|_| how_far(p, &config));
    }));
    status.hide();
    match compared {
        Ok(comparison) => show(args, &comparison),
        Err(error) => failed(&error),
    }
}

/// The result of a capture, if the comparison begins with one.
fn seen(args: &CompareArgs) -> Result<Option<SeenExchange>, Outcome> {
    let Some(file) = &args.seen.from_trace else {
        return Ok(None);
    };
    let name = file.display();
    match SeenExchange::slowest(file, &args.seen.keys, args.seen.flow) {
        Ok(Some(seen)) => {
            if !args.output.quiet {
                note("compare", &seen.told());
            }
            Ok(Some(seen))
        }
        Ok(None) => Err(failed(&format!(
            "{name} contains no exchange that can be asked again (GET or HEAD of a URL)"
        ))),
        Err(error) => Err(failed(&format!("cannot read {name}: {error}"))),
    }
}

fn how_far(p: &SessionProgress, config: &CompareConfig) -> String {
    let what = match p.block {
        Some(block) => format!("block {block}"),
        None => "what is there".into(),
    };
    let most = config.limits.requests;
    format!("{} of {most} requests · {what} · {}", p.sent, p.word)
}

fn config(args: &CompareArgs, seen: Option<&SeenExchange>) -> Result<CompareConfig, UsageError> {
    let url = seen.map(|seen| &seen.url).or(args.url.as_ref());
    let url = url.cloned().unwrap_or_default();
    let mut options = asked(&args.request, &args.connection)?;
    if let Some(seen) = seen {
        options.strategy = seen.strategy;
    }
    let html = args.output.html.as_deref();
    check_writable(html.and_then(std::path::Path::to_str))?;
    let family = match (args.ways.ipv4, args.ways.ipv6) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::Any,
    };
    Ok(CompareConfig {
        target: target(&url, &args.request)?,
        url,
        options: Options { family, ..options },
        requests: args.ways.requests,
        strategies: args.ways.strategies.clone(),
        against: args.ways.against.clone(),
        limits: RequestLimits {
            requests: args.limits.most,
            rate: args.limits.rate,
            time: args.limits.time,
        },
        seed: args.ways.seed,
        force: args.ways.force,
    })
}

fn show(args: &CompareArgs, comparison: &Comparison) -> Outcome {
    if args.output.json {
        OutputStream::Out.print_json(&format!("{:#}\n", stamped(json::document(comparison))));
    } else {
        let style = OutputStream::Out.style(args.output.color);
        OutputStream::Out.print(text::render(comparison, style));
    }
    if let Some(file) = &args.output.html {
        let page = html::page(comparison, &provenance::here());
        if let Err(ended) = page::deliver(file, &page, args.output.quiet) {
            return ended;
        }
    }
    if comparison.ended == EndReason::Interrupted || comparison.baseline.samples.is_empty() {
        return Outcome::Failed;
    }
    Outcome::Done
}
