//! Every figure of every arm, as a table.

use maud::{Markup, html};
use roundtrip_report::{clean, ms};

use super::scale::{percents, trips, with_unit};
use super::verdict::interval;
use crate::LabOutcome;
use crate::outcome::ArmOutcome;

pub(super) fn section(outcome: &LabOutcome) -> Markup {
    let told = outcome.arms.iter().any(|a| a.figures.network_ms.is_some());
    let lost = outcome.arms.iter().any(|a| a.figures.loss_ms > Some(0.0));
    let cpu = outcome.arms.iter().any(|a| a.figures.cpu_us.is_some());
    let published = outcome.arms.iter().any(|arm| arm.published.is_some());
    let carried = outcome.arms.iter().any(|a| a.figures.gbit_per_s.is_some());
    html! {
        h2 { "Figures" }
        p.legend-note {
            "In " (clean(&outcome.unit)) ", medians unless stated otherwise; RT: round trips. A saving is computed from pairs of the same block, with the 95 % bootstrap interval of its median if there are enough pairs."
        }
        div.scroll { table.figures {
            caption.unseen { "Every figure of " (clean(&outcome.experiment)) }
            thead { tr {
                th scope="col" { "Arm" }
                th scope="col" { "median" }
                @if published { th scope="col" { "published" } }
                @for head in ["min", "p90", "runs", "RT"] { th scope="col" { (head) } }
                @if told { @for head in ["network", "server", "client"] { th scope="col" { (head) } } }
                @if lost { th scope="col" { "loss" } }
                @if cpu { th scope="col" { "CPU, µs" } }
                @if carried { @for head in ["receiver", "Gbit/s", "of TLS", "published"] { th scope="col" { (head) } } }
                th scope="col" { "saved" }
                th scope="col" { "interval" }
                th.left scope="col" { "against" }
            } }
            tbody { @for arm in &outcome.arms { tr {
                th scope="row" { (clean(&arm.name)) @if arm.warm { span.quiet { " warm" } } }
                td { b { (number(arm.figures.median)) } }
                @if published { td.quiet { (number(arm.published)) } }
                (figures(arm, told, lost))
                @if cpu { td { (number(arm.figures.cpu_us)) } }
                @if carried {
                    @for value in [arm.figures.receiver, arm.figures.gbit_per_s, arm.ratio_to_tls] { td { (number(value)) } }
                    td.quiet { (number(arm.published_ratio)) }
                }
                (saving(arm))
            } } }
        } }
        (elsewhere(outcome))
        (clients(outcome))
    }
}

fn figures(arm: &ArmOutcome, told: bool, lost: bool) -> Markup {
    let f = &arm.figures;
    html! {
        @for value in [f.min, f.p90] { td { (number(value)) } }
        td { (f.runs) }
        td { (f.round_trips.map_or(String::new(), trips)) }
        @if told { @for value in [f.network_ms, f.server_ms, f.client_ms] { td { (number(value)) } } }
        @if lost { td { (number(f.loss_ms)) } }
    }
}

fn saving(arm: &ArmOutcome) -> Markup {
    let Some(saving) = &arm.saving else {
        return html! { td {} td {} td.left {} };
    };
    let share = saving.saving.share.map_or(String::new(), percents);
    let (class, words) = match (saving.shown, arm.control) {
        (None, _) => ("unsure", share),
        (Some(false), true) => ("quiet", "no drift".into()),
        (Some(false), false) => ("quiet", "none shown".into()),
        (Some(true), true) => ("bad", format!("drift {share}")),
        (Some(true), false) if saving.saving.median > 0.0 => ("good", share),
        (Some(true), false) => ("bad", share),
    };
    html! {
        td class=(class) { (words) }
        td.quiet { @if saving.shown.is_some() { (interval(saving, "")) } }
        td.left.quiet { (clean(&saving.against)) }
    }
}

/// Published figures about subjects that are not arms.
fn elsewhere(outcome: &LabOutcome) -> Markup {
    let others = outcome.published.iter();
    let others = others.filter(|p| outcome.arm(&p.name).is_none() || p.unit != outcome.unit);
    let others: Vec<String> = others
        .map(|p| format!("{} {}", p.name, with_unit(p.value, &p.unit)))
        .collect();
    html! { @if !others.is_empty() { p.legend-note { "Also published: " (clean(&others.join("; "))) "." } } }
}

/// The client of each arm.
fn clients(outcome: &LabOutcome) -> Markup {
    html! {
        details {
            summary { "The clients of the arms" }
            dl.facts { @for arm in &outcome.arms { div {
                dt { (clean(&arm.name)) }
                dd {
                    (clean(&arm.client)) " → " (clean(&arm.server))
                    span.quiet { (path(arm)) @if arm.warm { ", warmed up" } }
                }
            } } }
        }
    }
}

fn path(arm: &ArmOutcome) -> String {
    let words = arm.path.iter();
    let words: Vec<String> = words
        .map(|(word, values)| format!("{word} {}", values.join(", ")))
        .collect();
    if words.is_empty() {
        return String::new();
    }
    clean(&format!(", {}", words.join(", ")))
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), ms)
}
