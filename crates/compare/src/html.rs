//! A comparison as one self-contained page: what would save time, all ways on one scale, what has
//! to change, and what is not supported. Style, frame, bars and grids are shared by all pages and
//! belong to `report`.

mod bars;
mod sections;

use maud::{Markup, html};
use roundtrip_report::html::{PageHead, frame};
use roundtrip_report::{clean, count, ms};

use crate::outcome::{Comparison, WayVerdict};
use crate::text::{control, round_trips};

const STYLE: &str = include_str!("html/compare.css");

/// The whole page.
pub fn page(c: &Comparison, head: &PageHead) -> String {
    let body = html! {
        article {
            header {
                p.kicker { "roundtrip compare · " (clean(&c.method)) " " (clean(&c.url)) }
                h1 { (verdict(c)) }
                (conditions(c))
            }
            (bars::figure(c))
            (sections::findings(c))
            @for kind in WayVerdict::ALL { (sections::ways(c, kind)) }
            (sections::absent(c))
            (facts(c, head))
            @for note in &c.notes { p.note { b { "Note" } " " (clean(note)) } }
        }
    };
    frame(&format!("compare · {}", c.url), STYLE, &body, &head.made_by)
}

/// What saves most, in one sentence.
fn verdict(c: &Comparison) -> String {
    let each = if c.requests > 1 { " a request" } else { "" };
    match c.best() {
        Some(best) => {
            let saving = best.saving.map_or(0.0, |s| s.median);
            let today = c.baseline.median().unwrap_or_default();
            format!(
                "{}: this would save {} of {} ms{each}",
                capital(&clean(&best.way.title())),
                ms(saving),
                ms(today)
            )
        }
        None => c.nothing_shown(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

fn conditions(c: &Comparison) -> Markup {
    let word = c.baseline.way.word();
    html! {
        p.conditions {
            "Today means " code { (clean(&word)) } ", a new connection for each request"
            @if let Some(trips) = c.baseline.round_trips() { ": " (round_trips(trips)) }
            @if let Some(rtt) = c.rtt_ms { " of " (ms(rtt)) " ms" }
            ". "
            @if c.requests > 1 { "Measured as sequences of " (c.requests) " requests; all figures are those of one, on average. " }
            (count(c.blocks.into(), "block", "blocks")) " in random order (seed " (c.seed) "), differences within each block."
        }
    }
}

fn facts(c: &Comparison, head: &PageHead) -> Markup {
    html! {
        h2 { "How it was measured" }
        dl.facts {
            div { dt { "Server" } dd { (c.server.as_deref().map_or_else(|| "does not say what it is".into(), clean)) ", status " (c.status) } }
            @if let Some(address) = &c.address { div { dt { "Address" } dd { (clean(address)) } } }
            div { dt { "Requests" } dd {
                (c.sent) " of " (c.limits.requests) " that were allowed, " (c.limits.rate) " a second on average; " (c.discovery) " of them to find out what the server supports"
            } }
            div { dt { "Took" } dd { (format!("{:.0} s", c.took_s)) ", ended: " (c.ended.as_str()) } }
            div { dt { "Control" } dd { (control(&c.control)) } }
            (head.entries(""))
        }
    }
}
