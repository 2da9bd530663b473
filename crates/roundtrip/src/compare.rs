//! `roundtrip compare`: flags become wishes, the comparison becomes a report.

use roundtrip_compare::{
    Comparison, EndReason, RequestLimits, SessionProgress, Wishes, html, json, text,
};
use roundtrip_probe::{Family, Options};
use tokio::runtime::Builder;

use crate::cli::CompareArgs;
use crate::output::{Outcome, OutputStream, failed, interrupted, note};
use crate::page;
use crate::probe::{UsageError, asked, check_writable, target};
use crate::provenance::{self, stamped};
use crate::status::Status;

pub(crate) fn run(args: &CompareArgs) -> Outcome {
    if args.request.location {
        let why = "-L: compare asks one URL; give it the one that the redirects lead to";
        return Outcome::Usage(why.into());
    }
    let wishes = match wishes(args) {
        Ok(wishes) => wishes,
        Err(error) => return Outcome::Usage(error.to_string()),
    };
    if let Err(error) = wishes.check() {
        return Outcome::Usage(error.to_string());
    }
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&format!("cannot start: {error}")),
    };
    if !args.output.quiet {
        let announced = text::announcement(&wishes);
        note("compare", &announced);
    }
    let mut status = Status::new(args.output.quiet);
    let compared = runtime.block_on(roundtrip_compare::compare(&wishes, interrupted(), |p| {
        status.show(|_| how_far(p, &wishes));
    }));
    status.hide();
    match compared {
        Ok(comparison) => show(args, &comparison),
        Err(error) => failed(&error),
    }
}

fn how_far(p: &SessionProgress, wishes: &Wishes) -> String {
    let what = match p.block {
        Some(block) => format!("block {block}"),
        None => "what is there".into(),
    };
    let most = wishes.limits.requests;
    format!("{} of {most} requests · {what} · {}", p.sent, p.word)
}

fn wishes(args: &CompareArgs) -> Result<Wishes, UsageError> {
    let html = args.output.html.as_deref();
    check_writable(html.and_then(std::path::Path::to_str))?;
    let family = match (args.ways.ipv4, args.ways.ipv6) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::Any,
    };
    Ok(Wishes {
        target: target(&args.url, &args.request)?,
        url: args.url.clone(),
        options: Options {
            family,
            ..asked(&args.request, &args.connection)?
        },
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
