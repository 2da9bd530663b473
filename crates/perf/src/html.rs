//! An outcome as one self-contained page: the question and its answer, the processor time of a
//! gigabyte, each arm's ratio to TLS, what limited the rate, all figures. `report` provides style,
//! frame and hatchings, as for every page.

mod costs;
mod pace;
mod stairs;
mod table;

use maud::{Markup, html};
use roundtrip_report::clean;
use roundtrip_report::html::{PageHead, frame};
use roundtrip_report::terminal::Style;

use crate::outcome::{PerfArmOutcome, PerfOutcome};
use crate::plan::{ArmTransport, Pattern, Work};
use crate::text;

const STYLE: &str = include_str!("html/perf.css");

pub fn page(outcome: &PerfOutcome, head: &PageHead) -> String {
    let work = &outcome.plan.work;
    let body = html! {
        article {
            header {
                p.kicker { "roundtrip perf · " (work.pattern) }
                h1 { (question(work)) }
                @for sentence in answer(outcome) { p.verdict { (sentence) } }
            }
            @if outcome.interrupted { p.failure { (text::INTERRUPTED) } }
            (costs::section(outcome))
            (stairs::section(outcome))
            (pace::section(outcome))
            (table::section(outcome))
            (conditions(outcome, head))
            @for note in text::notes(outcome).iter().filter(|note| *note != text::INTERRUPTED) { p.note { b { "Note" } " " (clean(note)) } }
        }
    };
    frame(
        &format!("perf · {}", work.pattern),
        STYLE,
        &body,
        &head.made_by,
    )
}

fn question(work: &Work) -> &'static str {
    match work.pattern {
        Pattern::Requests { .. } => "What does a request cost the processor of each side?",
        _ => "What does it cost the processor to carry a gigabyte?",
    }
}

/// The answer in a sentence or two.
fn answer(outcome: &PerfOutcome) -> Vec<String> {
    let unit = outcome.unit();
    let cost = |arm: &PerfArmOutcome| Some((arm.arm.to_string(), arm.figures.sender?.median));
    let all = outcome.arms.iter().filter_map(cost);
    let Some((name, least)) = all.min_by(|one, other| one.1.total_cmp(&other.1)) else {
        return vec!["Nothing was measured.".into()];
    };
    let tls = outcome
        .arms
        .iter()
        .find(|arm| arm.arm.transport == ArmTransport::Tls);
    let tls = tls
        .and_then(cost)
        .filter(|(other, _)| *other != name)
        .map_or_else(String::new, |(tls, cost)| {
            format!("; {tls} costs {}", amount(cost, unit))
        });
    let superlative = if outcome.arms.len() > 1 {
        " least:"
    } else {
        ""
    };
    let mut told = vec![format!(
        "{name} costs the sender{superlative} {} {unit}{tls}.",
        amount(least, unit)
    )];
    let quic = outcome
        .arms
        .iter()
        .filter(|arm| arm.arm.transport == ArmTransport::Quic);
    let best = quic
        .filter_map(|arm| Some((arm.arm.to_string(), arm.figures.ratio_to_tls?)))
        .max_by(|one, other| one.1.total_cmp(&other.1));
    if let Some((name, ratio)) = best {
        told.push(match ratio {
            ratio if ratio >= 1.0 => format!(
                "Of the QUIC arms, {name} is the cheapest: with one core a sender could carry {ratio:.2} times what it could with TLS."
            ),
            _ => format!(
                "Of the QUIC arms, {name} is the cheapest, but it still costs more than TLS: with one core a sender could carry {ratio:.2} times as much."
            ),
        });
    }
    told
}

fn conditions(outcome: &PerfOutcome, head: &PageHead) -> Markup {
    let style = Style {
        unicode: true,
        ..Style::default()
    };
    let [work, place] = text::conditions(&outcome.plan, style);
    html! {
        h2 { "How it was measured" }
        dl.facts {
            div { dt { "Work" } dd { (clean(&work)) } }
            div { dt { "Place" } dd { (clean(&place)) } }
            (head.entries(", all arms in turn in each round"))
        }
    }
}

/// Formats a cost with the digits that it deserves.
fn amount(value: f64, unit: &str) -> String {
    match unit {
        "s/GB" => format!("{value:.3}"),
        _ => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests;
