//! Small parts: the bar that splits the total, facts, notes, findings, failures.

use std::time::Duration;

use maud::{Markup, html};
use roundtrip_model::{Exchange, Failure, Finding, Waited};

use super::bar::{stacked, swatch};
use crate::facts::{carried as carried_of, facts as facts_of};
use crate::numbers::{decimals, ms, span_ms, trips};
use crate::party::Party;
use crate::series::Series;
use crate::terminal::clean;
use crate::unexplained;

/// The parts of the total by party: one stacked bar, and the same as text.
pub fn split_bar(waited: &Waited, rtt: Option<Duration>, round_trips: u32) -> Markup {
    let sum = waited.sum();
    let places = decimals(sum);
    let seen = |p: &&Party| p.share(waited) > 0.0 || !p.is_rare();
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

/// A bar without text, on a scale shared with other runs.
pub(super) fn small_bar(waited: &Waited, scale: f64) -> Markup {
    html! { svg.bar.small width="100%" height="10" aria-hidden="true" { (stacked(waited, scale, 10)) } }
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
                (remedy(finding))
            }
        }
    }
}

/// The change that removes the cause, and the settings for it.
pub fn remedy(finding: &Finding) -> Markup {
    html! {
        @if !finding.remedy.is_empty() {
            p.remedy { b { "Remedy" } " " (clean(&finding.remedy)) }
            @if !finding.settings.is_empty() {
                ul.settings { @for setting in &finding.settings { li { (clean(setting.of)) ": " code { (clean(setting.is)) } } } }
            }
        }
    }
}

/// The causes that were found in a series, and the time that none of them explains.
pub(super) fn series(series: &Series) -> Markup {
    html! {
        @for cause in &series.causes {
            div.finding {
                p { b { (clean(cause.finding.id)) } " cost " (cause.cost()) " (median), " (cause.how_often()) }
                p { (clean(&cause.finding.evidence)) }
                (remedy(cause.finding))
            }
        }
        @if let Some(told) = series.unexplained_told() { p.note { b { "Unexplained" } " " (told) } }
        @for note in series.notes_told() { p.note { b { "Note" } " " (clean(&note)) } }
    }
}

pub(super) fn carried(exchange: &Exchange) -> Markup {
    html! {
        @if let Some(told) = carried_of(exchange) { p.note { b { "Bytes under way" } " " (told) } }
    }
}

pub(super) fn unexplained(exchange: &Exchange) -> Markup {
    html! {
        @if let Some(told) = unexplained::told(exchange) {
            div.note {
                p { b { "Unexplained" } " " (told) }
                @if let Some(advice) = unexplained::advice(exchange) { p { b { "Try" } " " (advice) } }
            }
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
