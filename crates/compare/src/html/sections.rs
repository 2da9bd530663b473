//! The sections of the page: what would save time and who must change what, what only seems to
//! work, and what is not supported.

use maud::{Markup, html};
use roundtrip_report::html::remedy;
use roundtrip_report::{clean, ms};

use crate::advice::Advice;
use crate::outcome::{Comparison, MeasuredWay, WayVerdict};
use crate::text::{change, failed, interval, predicted, round_trips};

/// The causes of today's time.
pub(super) fn findings(c: &Comparison) -> Markup {
    html! {
        @for f in &c.findings {
            div.finding {
                p { b { (f.id) } " costs " (ms(f.ms)) " ms today" }
                p { (clean(&f.evidence)) }
                (remedy(f))
            }
        }
    }
}

/// The ways of one kind, each with its reasons.
pub(super) fn ways(c: &Comparison, kind: WayVerdict) -> Markup {
    let lines: Vec<&MeasuredWay> = c.of_kind(kind).collect();
    let told = matches!(kind, WayVerdict::Saves | WayVerdict::Idle);
    html! {
        @if !lines.is_empty() {
            h2 { (kind.title()) }
            @for line in lines {
                div class={ "change " (kind.as_str()) } {
                    p { (head(line)) }
                    @if let Some(why) = &line.idle { p { (clean(why)) } }
                    @if kind == WayVerdict::Unsure { p { (line.too_few()) } }
                    @if told { (advice(&line.advice)) }
                    (comparison(line))
                }
            }
        }
    }
}

fn head(line: &MeasuredWay) -> Markup {
    html! {
        b { (clean(&line.way.title())) }
        @if let Some(saving) = &line.saving { " " (change(saving.median)) " ms " span.quiet { (interval(saving)) } }
        " " code { (clean(&line.way.word())) }
    }
}

fn advice(advice: &Advice) -> Markup {
    html! {
        @if let Some(server) = &advice.server { p { b { "Server" } " " (server) } }
        @if let Some(client) = &advice.client { p { b { "Client" } " " (client) } }
    }
}

fn comparison(line: &MeasuredWay) -> Markup {
    html! {
        @if line.predicted.is_some() { p.quiet { "Predicted " (predicted(line)) } }
        @if let Some(why) = line.disagreement.as_ref().filter(|_| line.idle.is_none()) { p.quiet { "Differs: " (clean(why)) } }
        @if let Some(failed) = failed(line) { p.quiet { "Failed " (failed) } }
    }
}

pub(super) fn absent(c: &Comparison) -> Markup {
    html! {
        @if !c.absent.is_empty() {
            h2 { "Not supported" }
            div.scroll { table.absent {
                thead { tr { th scope="col" { "Way" } th scope="col" { "Would save" } th scope="col" { "What was seen" } th scope="col" { "How to get it" } } }
                tbody { @for way in &c.absent {
                    tr {
                        th scope="row" { (clean(&way.way.title())) }
                        td.number { @if let Some(would) = way.would_save.filter(|w| w.round_trips >= 0.05) { (ms(would.ms)) " ms, " (round_trips(would.round_trips)) } }
                        td { (clean(&way.why)) }
                        td { @if let Some(server) = &way.advice.server { (server) } }
                    }
                } }
            } }
        }
    }
}
