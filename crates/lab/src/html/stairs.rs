//! The throughput of one sending core, as a ratio to TLS over TCP: a bar for each arm in the order
//! of the file, so that each optimisation is a step; the published ratio below it, and each run as
//! a dot. One picture for each set of conditions.

use maud::{Markup, html};
use roundtrip_report::clean;
use roundtrip_report::html::percent;

use super::arms::{line_for_figures, tops};
use super::scale::is_own_quic;
use crate::LabOutcome;
use crate::outcome::{ArmOutcome, RunSample};

const ROW: usize = 58;
/// The top of a bar, below the text of its row.
const BAR_TOP: usize = 20;
const BAR: usize = 14;
const PUBLISHED: usize = 5;
const DOTS: usize = BAR_TOP + BAR + PUBLISHED + 6;

pub(super) fn section(outcome: &LabOutcome, key: usize) -> Markup {
    let stairs = by_conditions(outcome);
    html! {
        @if !stairs.is_empty() { h2 { "The throughput of one core, as a ratio to TLS over TCP" } }
        @for (place, arms) in stairs.iter().enumerate() { (figure(arms, outcome, &format!("{key}-{place}"))) }
    }
}

/// Groups the arms by their conditions. Repetitions are left out: the control is reported below.
fn by_conditions(outcome: &LabOutcome) -> Vec<Vec<&ArmOutcome>> {
    let mut groups: Vec<Vec<&ArmOutcome>> = Vec::new();
    let shown = |arm: &&ArmOutcome| arm.ratio_to_tls.is_some() && !arm.control;
    for arm in outcome.arms.iter().filter(shown) {
        let alike = |group: &&mut Vec<&ArmOutcome>| {
            let mut group = group.iter();
            group.any(|other| (other.offload, &other.path) == (arm.offload, &arm.path))
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(arm),
            None => groups.push(vec![arm]),
        }
    }
    groups
}

fn figure(arms: &[&ArmOutcome], outcome: &LabOutcome, key: &str) -> Markup {
    let scale = reach(arms);
    let heights: Vec<usize> = arms.iter().map(|arm| ROW + second_line(arm)).collect();
    let height = heights.iter().sum::<usize>() + 18;
    let rows: Vec<(&ArmOutcome, usize)> = arms.iter().copied().zip(tops(&heights)).collect();
    let (title, words) = (format!("stairs-{key}-t"), format!("stairs-{key}-d"));
    let is_published = arms.iter().any(|arm| arm.published_ratio.is_some());
    html! {
        h3 { (conditions(arms)) }
        figure {
            (legend(is_published))
            svg.stairs width="100%" height=(height) role="img" aria-labelledby={ (title) " " (words) } {
                title id=(title) { "Throughput of one core, as a ratio to TLS over TCP: " (conditions(arms)) }
                desc id=(words) { (description(arms)) }
                line.one x1=(percent(1.0, scale)) x2=(percent(1.0, scale)) y1="16" y2=(height - 16) {}
                @for pair in rows.windows(2) { (step(pair, scale)) }
                @for (arm, top) in &rows { (row(arm, *top, scale)) }
                g.grid { text x=(percent(1.0, scale)) y=(height - 3) { "TLS" } }
            }
            figcaption {
                "The throughput of one core of the sender (one second divided by the cost of a gigabyte), relative to TLS over TCP; each run is a dot."
                @if is_published { " The thin bar below is the throughput that was published (" (clean(&outcome.article)) "), divided by that of TLS there." }
            }
        }
    }
}

fn legend(is_published: bool) -> Markup {
    html! {
        ul.legend.stairs {
            @for (class, words) in [("ours", "our QUIC"), ("ours other", "TCP, TLS, another engine")] {
                li { svg.swatch width="12" height="12" aria-hidden="true" { rect class=(class) width="12" height="12" rx="2" {} } (words) }
            }
            @if is_published {
                li { svg.swatch width="12" height="12" aria-hidden="true" { rect.theirs y="4" width="12" height="5" {} } "published" }
            }
        }
    }
}

fn conditions(arms: &[&ArmOutcome]) -> &'static str {
    match arms.first().and_then(|arm| arm.offload) {
        Some(true) => "The interface does the segmentation (offloads on)",
        _ => "Each packet crosses the wire separately (offloads off)",
    }
}

fn ratio(arm: &ArmOutcome) -> f64 {
    arm.ratio_to_tls.unwrap_or_default()
}

/// The arm's ratio, computed from this run alone.
fn of_run(arm: &ArmOutcome, sample: &RunSample) -> Option<f64> {
    let of_median = arm.figures.median? / sample.value;
    Some(ratio(arm) * of_median).filter(|ratio| ratio.is_finite())
}

/// The scale from zero to a little beyond the largest value, and beyond TLS.
fn reach(arms: &[&ArmOutcome]) -> f64 {
    let each = arms.iter().flat_map(|arm| {
        let runs = arm.samples.iter().filter_map(|sample| of_run(arm, sample));
        runs.chain([ratio(arm), arm.published_ratio.unwrap_or_default()])
    });
    each.fold(1.0, f64::max) * 1.03
}

fn second_line(arm: &ArmOutcome) -> usize {
    let figures = published(arm).len() + two(ratio(arm)).len();
    line_for_figures(&clean(&arm.name), figures)
}

fn published(arm: &ArmOutcome) -> String {
    let published = arm.published_ratio;
    published.map_or(String::new(), |ratio| {
        format!("published {} · ", two(ratio))
    })
}

fn row(arm: &ArmOutcome, top: usize, scale: f64) -> Markup {
    let figures = top + second_line(arm);
    let (bar, thin) = (figures + BAR_TOP, figures + BAR_TOP + BAR);
    html! {
        g {
            text.label x="0" y=(top + 13) { (clean(&arm.name)) }
            text.value x="100%" y=(figures + 13) { tspan.quiet { (published(arm)) } (two(ratio(arm))) }
            rect.track x="0" width="100%" y=(bar) height=(BAR) rx="2" {}
            rect.ours.other[!is_own_quic(arm)] x="0" width=(percent(ratio(arm), scale)) y=(bar) height=(BAR) rx="2" {}
            @if let Some(ratio) = arm.published_ratio {
                rect.theirs x="0" width=(percent(ratio, scale)) y=(thin) height=(PUBLISHED) {}
            }
            g.runs { @for sample in &arm.samples { @if let Some(ratio) = of_run(arm, sample) {
                circle cx=(percent(ratio, scale)) cy=(figures + DOTS) r="2.5" {
                    title { "run " (sample.run + 1) ": " (two(ratio)) }
                }
            } } }
        }
    }
}

/// The step from the end of one bar down to the next.
fn step(pair: &[(&ArmOutcome, usize)], scale: f64) -> Markup {
    let [(arm, top), (next, next_top)] = pair else {
        return html! {};
    };
    let x = percent(ratio(arm), scale);
    let bar = |arm: &ArmOutcome, top: usize| top + second_line(arm) + BAR_TOP;
    let (from, to) = (bar(arm, *top) + BAR, bar(next, *next_top));
    html! { @if is_own_quic(next) { line.step x1=(x) x2=(x) y1=(from) y2=(to) {} } }
}

fn two(ratio: f64) -> String {
    format!("{ratio:.2}")
}

fn description(arms: &[&ArmOutcome]) -> String {
    let each = arms.iter().map(|arm| {
        let published = arm.published_ratio;
        let published = published.map_or(String::new(), |p| format!(", published {}", two(p)));
        format!("{} {}{published}", clean(&arm.name), two(ratio(arm)))
    });
    each.collect::<Vec<String>>().join("; ") + "."
}
