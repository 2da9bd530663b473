//! Logs that programs wrote about their own requests, given instead of a capture.

use roundtrip_trace::logs::{Log, json, page, text};

use super::COMPLAINTS;
use super::source::CaptureSource;
use crate::cli::TraceArgs;
use crate::output::{Outcome, OutputStream, failed, say};
use crate::provenance::{self, stamped};

/// The largest log in bytes.
pub(super) const MAX_LOG: u64 = 1 << 30;

pub(super) fn run(args: &TraceArgs, name: &str, source: CaptureSource) -> Outcome {
    let unfit = [
        (args.write.is_some(), "--write"),
        (args.flow.is_some(), "--flow"),
        (args.interface.is_some(), "--interface"),
        (!args.keys.is_empty(), "--keys"),
    ];
    if let Some((_, flag)) = unfit.iter().find(|(given, _)| *given) {
        return Outcome::Usage(format!(
            "{name} is a log, not a capture: {flag} needs packets"
        ));
    }
    let bytes = match source.whole(MAX_LOG) {
        Ok(bytes) => bytes,
        Err(error) => return failed(&format!("cannot read {name}: {error}")),
    };
    let Some(log) = Log::read(&bytes) else {
        return failed(&format!(
            "{name} is neither a capture (pcap, pcapng) nor a log of requests (HAR, NetLog, qlog, curl --trace-time)"
        ));
    };
    for caveat in text::caveats(&log) {
        say(&format!("{name}: {caveat}"));
    }
    if args.json {
        OutputStream::Out.print_json(&format!("{:#}\n", stamped(json::document(name, &log))));
    } else if args.ndjson {
        for index in 0..log.witness.requests.len() {
            if let Some(request) = json::request(&log, index) {
                OutputStream::Out.print_json(&(stamped(request).to_string() + "\n"));
            }
        }
    } else {
        OutputStream::Out.print(text::head(name, &log));
        let style = OutputStream::Out.style(args.color);
        OutputStream::Out.print(text::report(&log, args.quiet, &style));
    }
    if let Some(path) = &args.html {
        let page = page::page(name, &log, &provenance::here());
        if let Err(ended) = crate::page::deliver(path, &page, true) {
            return ended;
        }
    }
    judge(args, &log)
}

/// Whether all requests keep the limits.
fn judge(args: &TraceArgs, log: &Log) -> Outcome {
    let mut broken = 0_usize;
    for request in &log.witness.requests {
        let exchange = log.exchange(request);
        for limit in &args.fail_if {
            if let Some(value) = limit.broken_by(&exchange) {
                broken += 1;
                if broken <= COMPLAINTS {
                    say(&limit.complaint(value, &exchange));
                }
            }
        }
    }
    if broken > COMPLAINTS {
        say(&format!("and {} more limits missed", broken - COMPLAINTS));
    }
    if broken == 0 {
        Outcome::Done
    } else {
        Outcome::LimitMissed
    }
}
