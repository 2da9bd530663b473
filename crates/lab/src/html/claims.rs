//! Claims: whether each holds, with the measured value beside the published one.

use maud::{Markup, html};
use roundtrip_report::clean;

use super::scale::with_unit;
use crate::LabOutcome;
use crate::outcome::ClaimOutcome;

pub(super) fn section(outcome: &LabOutcome) -> Markup {
    if outcome.claims.is_empty() {
        return html! {};
    }
    html! {
        h2 { "Claims " (tally(outcome)) }
        div.scroll { table.claims {
            caption.unseen { "Each claim of the experiment, whether it holds, the measured value and the published one" }
            thead { tr {
                th scope="col" { "Claim" }
                th scope="col" { "Measured" }
                th scope="col" { "Published" }
            } }
            tbody { @for claim in &outcome.claims { (row(claim)) } }
        } }
    }
}

fn row(claim: &ClaimOutcome) -> Markup {
    let (class, sign, words) = match claim.holds {
        Some(true) => ("good", "✓", "holds"),
        Some(false) => ("bad", "✗", "does not hold"),
        None => ("quiet", "–", "was not measured"),
    };
    let figure = |value: f64| clean(&with_unit(value, &claim.unit));
    html! {
        tr {
            th scope="row" {
                span.sign.(class) aria-hidden="true" { (sign) }
                span.unseen { (words) ": " }
                (clean(&claim.text))
            }
            td { (claim.measured.map_or("–".into(), figure)) }
            td.quiet { (claim.published.map_or(String::new(), figure)) }
        }
    }
}

/// `12 of 13 hold`.
pub(super) fn tally(outcome: &LabOutcome) -> Markup {
    let all = outcome.claims.len();
    let holding = outcome.claims.iter().filter(|c| c.holds == Some(true));
    let holding = holding.count();
    let class = if outcome.claims.iter().any(|c| c.holds == Some(false)) {
        "bad"
    } else {
        "good"
    };
    html! { @if all > 0 { span.tally.(class) { (holding) " of " (all) " hold" } } }
}
