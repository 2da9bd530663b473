//! A log as one page: the waterfall of its requests with the critical path, and the tables.

use std::collections::HashSet;

use maud::{Markup, html};
use roundtrip_report::html::{PageHead, frame, percent};
use roundtrip_report::{clean, count, ms};
use roundtrip_wire::witness::{ToldPhase, ToldRequest};

use super::{Log, PHASES, REMEDIES, length, millis, name, text};

const STYLE: &str = include_str!("page.css");
/// The largest number of rows of the waterfall, and of tables.
const MAX_BARS: usize = 200;
const MAX_ROWS: usize = 40;
/// The height of a row in pixels.
const ROW: usize = 18;
/// The width of the labels, in percent.
const LABELS: f64 = 34.0;

pub fn page(file: &str, log: &Log, head: &PageHead) -> String {
    let body = html! {
        article {
            p.kicker { (text::head(file, log).trim_end()) }
            @if let Some(page) = &log.page {
                h1 { "The load took " (ms(millis(page.length()))) " ms" }
                p { "Its critical path needs " (count(log.round_trips().unwrap_or(0).into(), "round trip", "round trips")) " at least. The program that wrote the log measured these times; a log contains no packets, so no wait is attributed to a party." }
            } @else {
                h1 { (clean(file)) }
            }
            @if !log.witness.requests.is_empty() { (waterfall(log)) }
        }
        @if log.page.is_some() { (critical(log)) (remedies(log)) }
        article {
            h2.first { "What this log does not tell" }
            @for (what, needs) in log.undecidable() {
                p.quiet { "Not decidable from this log: " (what) "; it needs " (needs) "." }
            }
            h2 { "How it was read" }
            dl.facts { (head.entries("")) }
        }
    };
    frame(file, STYLE, &body, &head.made_by)
}

/// Each request as a bar, from top to bottom in the order in which they began.
fn waterfall(log: &Log) -> Markup {
    let mut requests: Vec<(usize, &ToldRequest)> =
        log.witness.requests.iter().enumerate().collect();
    requests.sort_by_key(|(_, request)| request.begin);
    let all = requests.len();
    requests.truncate(MAX_BARS);
    let ends = requests
        .iter()
        .map(|(_, request)| request.begin + length(request));
    let scale = millis(ends.max().unwrap_or(1)).max(f64::MIN_POSITIVE);
    let critical: HashSet<usize> = log
        .page
        .iter()
        .flat_map(|page| page.critical.iter().map(|step| step.request))
        .collect();
    let place = |at: f64| percent(LABELS + (100.0 - LABELS) * at / scale, 100.0);
    let width = |took: f64| percent((100.0 - LABELS) * took / scale, 100.0);
    html! {
        figure.told {
            ul.legend {
                @for phase in PHASES { @if is_used(log, phase) { li { span.swatch.(class(phase)) {} (name(phase)) } } }
                @if !critical.is_empty() { li { span.swatch.critical {} "on the critical path" } }
            }
            svg width="100%" height=(requests.len() * ROW + 4) role="img" aria-label="The requests, as they began and ended" {
                @for (row, (index, request)) in requests.iter().enumerate() {
                    @let top = row * ROW;
                    g {
                        title { (clean(&request.url)) ": " (ms(millis(length(request)))) " ms; " (text::mostly(request)) }
                        @if critical.contains(index) { rect.critical x="0" width="3" y=(top + 2) height=(ROW - 4) {} }
                        text x="8" y=(top + 13) { (label(&request.url)) }
                        rect.whole x=(place(millis(request.begin))) width=(width(millis(length(request)))) y=(top + 7) height="4" {}
                        @for span in &request.spans {
                            rect.(class(span.phase)) x=(place(millis(span.begin))) width=(width(millis(span.end - span.begin))) y=(top + 3) height=(ROW - 6) {}
                        }
                    }
                }
            }
            @if all > MAX_BARS { p.quiet { "And " (all - MAX_BARS) " later requests; " code { "--json" } " has them all." } }
        }
    }
}

/// The end of the path, which distinguishes requests of one site.
fn label(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let last = path.trim_end_matches('/').rsplit('/').next();
    let shown = last.filter(|last| !last.is_empty()).unwrap_or(host);
    let shown: String = shown.chars().take(28).collect();
    clean(&shown)
}

fn is_used(log: &Log, phase: ToldPhase) -> bool {
    let mut requests = log.witness.requests.iter();
    requests.any(|request| request.spans.iter().any(|span| span.phase == phase))
}

fn class(phase: ToldPhase) -> &'static str {
    match phase {
        ToldPhase::Queue | ToldPhase::Proxy => "queue",
        ToldPhase::Name => "lookup",
        ToldPhase::Connect => "connect",
        ToldPhase::Handshake => "handshake",
        ToldPhase::Send => "send",
        ToldPhase::Wait => "wait",
        ToldPhase::Body => "body",
    }
}

fn critical(log: &Log) -> Markup {
    let steps = log.page.as_ref().map_or(&[][..], |page| &page.critical);
    let first = steps.first().map_or(0, |step| step.begin);
    let took = |begin: u64, end: u64| millis(end.saturating_sub(begin));
    let shown = steps
        .iter()
        .filter(|step| took(step.begin, step.end) >= 0.05);
    let left_out = shown.clone().count().saturating_sub(MAX_ROWS);
    html! {
        article {
            h2.first { "The critical path" }
            div.scroll { table {
                thead { tr { @for title in ["At, ms", "Took, ms"] { th scope="col" { (title) } } @for title in ["Phase", "Request"] { th.words scope="col" { (title) } } } }
                tbody { @for step in shown.take(MAX_ROWS) { tr {
                    td { (ms(millis(step.begin.saturating_sub(first)))) }
                    td { (ms(took(step.begin, step.end))) }
                    td.words { (step.phase.map_or("not in the log", name)) }
                    td.words { (text::about(log, step)) }
                } } }
            } }
            @if left_out > 0 { p.quiet { "And " (count(left_out as u64, "step", "steps")) " more." } }
        }
    }
}

fn remedies(log: &Log) -> Markup {
    html! {
        article {
            h2.first { "How long the load would have taken" }
            div.scroll { table { tbody {
                @for (remedy, phases) in REMEDIES {
                    @if let Some(left) = log.without(phases) { tr {
                        th scope="row" { "with " (remedy) }
                        td { (ms(millis(left))) " ms" }
                    } }
                }
            } } }
            p.quiet { "Everything outside the critical path stays as it was." }
        }
    }
}
