//! The small pieces: fills, the bar that splits the total, facts, notes, findings, failures.

use std::time::Duration;

use maud::{Markup, PreEscaped, html};
use roundtrip_model::{Exchange, Failure, Finding, Waited};

use crate::facts::facts as facts_of;
use crate::party::{Party, segments};
use crate::text::{clean, decimals, ms, span_ms, trips};

/// Hatchings over the colours, so that parties are told apart without colour. Defined once, used by every picture.
pub(super) fn patterns() -> Markup {
    html! {
        (PreEscaped(r#"<svg width="0" height="0" class="defs" aria-hidden="true"><defs>
<pattern id="network" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="network"/></pattern>
<pattern id="server" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" class="server"/><rect width="2" height="6" class="hatch"/></pattern>
<pattern id="client" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" class="client"/><circle cx="3" cy="3" r="1.2" class="hatch"/></pattern>
<pattern id="resolver" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" class="resolver"/><rect width="6" height="2" class="hatch"/></pattern>
<pattern id="loss" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect width="6" height="6" class="loss"/><rect width="1.5" height="6" class="hatch"/><rect width="6" height="1.5" class="hatch"/></pattern>
</defs></svg>"#))
    }
}

pub(super) fn fill(party: Party) -> String {
    format!("url(#{})", party.name())
}

pub(super) fn percent(part: f64, whole: f64) -> String {
    let share = if whole > 0.0 {
        (part / whole * 100.0).clamp(0.0, 100.0)
    } else {
        0.0
    };
    format!("{share:.3}%")
}

/// Whose time the total was: one stacked bar, and the same in words.
pub(super) fn split_bar(waited: &Waited, rtt: Option<Duration>, round_trips: u32) -> Markup {
    let sum = waited.sum();
    let places = decimals(sum);
    let seen = |p: &&Party| p.share(waited) > 0.0 || !matches!(p, Party::Resolver | Party::Loss);
    html! {
        div.split {
            svg.bar width="100%" height="14" aria-hidden="true" { (stacked(waited, sum, 14)) }
            ul.legend {
                @for party in Party::BY_WEIGHT.iter().filter(seen) {
                    li {
                        (swatch(*party)) span { (party.name()) } " " b { (format!("{:.places$}", party.share(waited))) " ms" }
                        @if *party == Party::Network && round_trips > 0 {
                            @if let Some(rtt) = rtt { span.quiet { " " (round_trips) " × " (span_ms(rtt)) } }
                        }
                    }
                }
            }
        }
    }
}

/// The same without words, on a scale shared with other runs.
pub(super) fn small_bar(waited: &Waited, scale: f64) -> Markup {
    html! { svg.bar.small width="100%" height="10" aria-hidden="true" { (stacked(waited, scale, 10)) } }
}

fn stacked(waited: &Waited, scale: f64, height: u32) -> Markup {
    html! {
        @for (party, start, share) in segments(Party::BY_WEIGHT, waited) {
            rect x=(percent(start, scale)) width=(percent(share, scale)) height=(height) fill=(fill(party)) {}
        }
    }
}

fn swatch(party: Party) -> Markup {
    html! {
        svg.swatch width="12" height="12" aria-hidden="true" { rect width="12" height="12" rx="2" fill=(fill(party)) {} }
    }
}

pub(super) fn facts(exchange: &Exchange) -> Markup {
    html! {
        dl.facts {
            @for fact in facts_of(exchange) {
                div { dt { (fact.label) } dd { (fact.value) } }
            }
        }
    }
}

pub(super) fn notes(notes: &[String]) -> Markup {
    html! {
        @for note in notes {
            p.note { b { "Note" } " " (clean(note)) }
        }
    }
}

pub(super) fn findings(findings: &[Finding]) -> Markup {
    html! {
        @for finding in findings {
            div.finding {
                p { b { (clean(finding.id)) } " cost " (ms(finding.ms)) " ms" @if finding.round_trips > 0 { ", " (trips(finding.round_trips)) } }
                p { (clean(&finding.evidence)) }
                @if !finding.remedy.is_empty() { p.remedy { b { "Remedy" } " " (clean(&finding.remedy)) } }
            }
        }
    }
}

pub(super) fn unexplained(found: Option<f64>) -> Markup {
    html! {
        @if let Some(unexplained) = found {
            p.note { b { "Unexplained" } " " (ms(unexplained)) " ms" }
        }
    }
}

pub(super) fn failure(failure: &Failure) -> Markup {
    html! {
        div.failure role="alert" {
            p { b { (failure.phase.title()) " failed" } " " (clean(&failure.message)) }
            @if !failure.advice.is_empty() { p.remedy { b { "Try" } " " (clean(&failure.advice)) } }
        }
    }
}
