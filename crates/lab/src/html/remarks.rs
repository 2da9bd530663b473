//! Remarks beside the figures: the control, failures, arms that were not run and why, notes.

use maud::{Markup, html};
use roundtrip_report::clean;

use super::verdict::control;
use crate::LabOutcome;

pub(super) fn section(outcome: &LabOutcome) -> Markup {
    let controls: Vec<String> = outcome.arms.iter().filter_map(control).collect();
    let notes = outcome.arms.iter();
    let notes: Vec<(&str, &str)> = notes
        .flat_map(|arm| {
            arm.notes
                .iter()
                .map(|note| (arm.name.as_str(), note.as_str()))
        })
        .collect();
    html! {
        @if !controls.is_empty() {
            h2 { "Control" }
            @for words in &controls { p { (words) } }
        }
        @if let Some(words) = outcome.disturbance() { p { (words) } }
        (failures(outcome))
        (expected(outcome))
        (not_run(outcome))
        @for (arm, note) in notes {
            p.note { b { (clean(arm)) } " " (clean(note)) }
        }
    }
}

/// Each reason once, with the number of its occurrences.
fn failures(outcome: &LabOutcome) -> Markup {
    let mut met: Vec<(&str, &str, usize)> = Vec::new();
    let arms = outcome.arms.iter().map(|a| (a.name.as_str(), &a.failures));
    let points = outcome.curves.iter().flat_map(|curve| &curve.lines);
    let points = points.flat_map(|line| &line.points);
    let points = points.map(|point| (point.name.as_str(), &point.failures));
    for (name, why) in arms
        .chain(points)
        .flat_map(|(name, all)| all.iter().map(move |why| (name, why.as_str())))
    {
        match met.iter_mut().find(|(n, w, _)| (*n, *w) == (name, why)) {
            Some((.., times)) => *times += 1,
            None => met.push((name, why, 1)),
        }
    }
    html! {
        @if !met.is_empty() {
            h2 { "What failed" }
            div.failure { @for (name, why, times) in met {
                p { b { (clean(name)) } @if times > 1 { ", " (times) " times" } ": " (clean(why)) }
            } }
        }
    }
}

/// The failures of arms that cannot succeed.
fn expected(outcome: &LabOutcome) -> Markup {
    let arms = outcome.arms.iter();
    let told: Vec<(&str, &str)> = arms
        .filter_map(|arm| Some((arm.name.as_str(), arm.expected_failures.first()?.as_str())))
        .collect();
    html! {
        @if !told.is_empty() {
            h2 { "Expected failures" }
            dl.facts { @for (name, why) in told { div { dt { (clean(name)) } dd { (clean(why)) } } } }
        }
    }
}

fn not_run(outcome: &LabOutcome) -> Markup {
    let arms = outcome.arms.iter();
    let missing: Vec<(&str, &str)> = arms
        .filter_map(|arm| Some((arm.name.as_str(), arm.not_run.as_deref()?)))
        .collect();
    html! {
        @if !missing.is_empty() {
            h2 { "Not run" }
            dl.facts { @for (name, why) in missing { div { dt { (clean(name)) } dd { (clean(why)) } } } }
        }
    }
}
