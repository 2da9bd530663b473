//! The arms on one scale: a bar for the run nearest to the median, a dot for each run, a line for
//! the range of most runs, and the published figure. The bar has a mark at each round trip.

use maud::{Markup, html};
use roundtrip_model::Summary;
use roundtrip_report::html::{bar, percent, swatch};
use roundtrip_report::{Party, clean, ms};

use super::scale::{common_rtt, measure, median_run, reach, rtt, trips, waited, with_unit};
use crate::LabOutcome;
use crate::outcome::ArmOutcome;

const ROW: usize = 50;
const BAR: usize = 14;
/// The top of the bar, below the row's text.
const BAR_TOP: usize = 20;
/// The height of a further line of text.
const LINE: usize = 16;
/// The characters of a line on a phone: a name and its figures that need more take two lines.
const MAX_LINE: usize = 34;
/// The characters that the columns of [`value`] take.
pub(super) const FIGURES: usize = 12;
const WARM: &str = " warm";
/// Round trips closer than this part of the scale are drawn as a hatching instead of marks.
const CLOSEST: f64 = 1.0 / 40.0;

pub(super) fn section(outcome: &LabOutcome, key: usize) -> Markup {
    let arms: Vec<&ArmOutcome> = outcome.arms.iter().filter(|arm| is_measured(arm)).collect();
    if arms.is_empty() {
        return html! {};
    }
    let scale = reach(outcome);
    let heights: Vec<usize> = arms.iter().map(|arm| ROW + second_line(arm)).collect();
    let height = heights.iter().sum::<usize>() + 20;
    let (title, words) = (format!("arms-{key}-t"), format!("arms-{key}-d"));
    html! {
        h2 { "Arms" }
        figure {
            (legend(&arms))
            svg.arms width="100%" height=(height) role="img" aria-labelledby={ (title) " " (words) } {
                title id=(title) { "The arms of " (clean(&outcome.experiment)) " on one scale" }
                desc id=(words) { (description(&arms)) }
                @for (arm, top) in arms.iter().zip(tops(&heights)) { (row(arm, top, scale)) }
                (axis(&arms, scale, height - 4))
            }
            figcaption {
                "In " (clean(&outcome.unit)) ": " (measure(outcome)) ". The bar is the run nearest to the median, in the colours of the parties that it waited for"
                @if arms.iter().any(|arm| rtt(arm).is_some_and(|rtt| rtt >= scale * CLOSEST)) { ", cut at each round trip of its path" }
                "; below it each run is a dot, and the line spans the 10th to the 90th percentile."
                @if arms.iter().any(|arm| arm.published.is_some()) { " A diamond is the published figure, which was measured elsewhere." }
            }
        }
    }
}

fn is_measured(arm: &ArmOutcome) -> bool {
    arm.figures.median.is_some()
}

fn legend(arms: &[&ArmOutcome]) -> Markup {
    let seen = |party: &&Party| {
        let runs = arms.iter().filter_map(|arm| median_run(arm)?.waited);
        runs.map(|w| party.share(&waited(w))).sum::<f64>() > 0.0
    };
    let silent = arms
        .iter()
        .any(|arm| median_run(arm).is_some_and(|run| run.waited.is_none()));
    html! {
        ul.legend {
            @for party in Party::BY_WEIGHT.iter().filter(seen) { li { (swatch(*party)) (party.name()) } }
            @if silent {
                li { svg.swatch width="12" height="12" aria-hidden="true" { rect.silent width="12" height="12" rx="2" {} } "a program that does not report it" }
            }
            @if arms.iter().any(|arm| arm.published.is_some()) {
                li { svg.swatch.published width="12" height="12" aria-hidden="true" { path d="M6 0 L12 6 L6 12 L0 6 Z" {} } "published" }
            }
        }
    }
}

/// The top of each row, from the heights of all.
pub(super) fn tops(heights: &[usize]) -> impl Iterator<Item = usize> {
    heights.iter().scan(0, |next, height| {
        let top = *next;
        *next += height;
        Some(top)
    })
}

/// The height of the line below a label that its figures need if both do not fit one line.
pub(super) fn line_for_figures(label: &str, figures: usize) -> usize {
    let fits = label.chars().count() + figures <= MAX_LINE;
    if fits { 0 } else { LINE }
}

fn second_line(arm: &ArmOutcome) -> usize {
    let warm = if arm.warm { WARM } else { "" };
    line_for_figures(&format!("{}{warm}", clean(&arm.name)), FIGURES)
}

fn row(arm: &ArmOutcome, top: usize, scale: f64) -> Markup {
    let figures = top + second_line(arm);
    let bar_top = figures + BAR_TOP;
    html! {
        g {
            text.label.control[arm.control] x="0" y=(top + 13) { (clean(&arm.name)) @if arm.warm { tspan.quiet { (WARM) } } }
            (value(arm.figures.median.unwrap_or_default(), arm.figures.round_trips, figures + 13))
            rect.track x="0" width="100%" y=(bar_top) height=(BAR) rx="2" {}
            (body(arm, scale, bar_top))
            (marks(arm, scale, bar_top))
            (dots(arm, scale, bar_top + BAR + 6))
            @if let Some(published) = arm.published { (diamond(arm, published, scale, bar_top)) }
        }
    }
}

/// Columns to the right of the bar: round trips, and the figure itself.
pub(super) fn value(value: f64, turns: Option<f64>, y: usize) -> Markup {
    html! {
        @if let Some(turns) = turns { text.value.trips x="100%" dx="-62" y=(y) { (trips(turns)) " RT" } }
        text.value x="100%" y=(y) { (ms(value)) }
    }
}

fn body(arm: &ArmOutcome, scale: f64, top: usize) -> Markup {
    let Some(run) = median_run(arm) else {
        return html! {};
    };
    match run.waited {
        Some(told) if arm.unit == "ms" => bar(0.0, &waited(told), scale, top, BAR),
        _ => html! { rect.silent x="0" width=(percent(run.value, scale)) y=(top) height=(BAR) {} },
    }
}

/// Marks each round trip by a cut, up to the end of the bar.
fn marks(arm: &ArmOutcome, scale: f64, top: usize) -> Markup {
    let far = arm.figures.median.unwrap_or_default();
    let Some(rtt) = rtt(arm).filter(|rtt| *rtt >= scale * CLOSEST) else {
        return html! {};
    };
    let at = (1..64).map(|n| f64::from(n) * rtt);
    html! {
        g.cuts { @for at in at.take_while(|at| *at <= far) {
            @let x = percent(at, scale);
            line x1=(x) x2=(x) y1=(top) y2=(top + BAR) {}
        } }
    }
}

fn dots(arm: &ArmOutcome, scale: f64, y: usize) -> Markup {
    let (low, high) = band(arm);
    html! {
        g.runs {
            line x1=(percent(low, scale)) x2=(percent(high, scale)) y1=(y) y2=(y) {}
            @for sample in &arm.samples {
                circle cx=(percent(sample.value, scale)) cy=(y) r="2.5" { title { "run " (sample.run + 1) ": " (with_unit(sample.value, &clean(&arm.unit))) } }
            }
        }
    }
}

/// The tenth and the ninetieth percentile. The tenth percentile of these values is the ninetieth of
/// their negatives.
pub(super) fn band(arm: &ArmOutcome) -> (f64, f64) {
    let negative: Vec<f64> = arm.samples.iter().map(|sample| -sample.value).collect();
    let median = arm.figures.median.unwrap_or_default();
    let low = Summary::from_samples(&negative).map_or(median, |s| -s.p90);
    (low, arm.figures.p90.unwrap_or(median))
}

/// A diamond, with its figure on the side without runs.
fn diamond(arm: &ArmOutcome, published: f64, scale: f64, top: usize) -> Markup {
    let above = published >= arm.figures.median.unwrap_or_default();
    let to_the_right = match published / scale {
        far if far > 0.75 => false,
        near if near < 0.25 => true,
        _ => above,
    };
    let (dx, class) = if to_the_right {
        ("9", "right")
    } else {
        ("-9", "left")
    };
    html! {
        g.published {
            title { "published: " (with_unit(published, &clean(&arm.unit))) }
            svg x=(percent(published, scale)) y=(top) width="1" height=(BAR) { path d="M0 1 L6 7 L0 13 L-6 7 Z" {} }
            text class=(class) x=(percent(published, scale)) dx=(dx) y=(top + BAR + 10) { (ms(published)) }
        }
    }
}

fn axis(arms: &[&ArmOutcome], scale: f64, y: usize) -> Markup {
    let Some(rtt) = common_rtt(arms).filter(|rtt| *rtt >= scale * CLOSEST) else {
        let grid = roundtrip_report::html::Grid::new(scale, None);
        let in_ms = arms.iter().all(|arm| arm.unit == "ms");
        return html! { @if in_ms { (grid.labels(y)) } };
    };
    let every = ((scale / 9.0 / rtt).ceil() as u32).max(1);
    let labels = (0..64).map(|n| n * every);
    html! {
        g.grid {
            @for n in labels.take_while(|n| f64::from(*n) * rtt <= scale * 0.96) {
                text x=(percent(f64::from(n) * rtt, scale)) y=(y) class=[(n == 0).then_some("first")] {
                    @if n == 0 { "0" } @else { (n) " RT" }
                }
            }
        }
    }
}

fn description(arms: &[&ArmOutcome]) -> String {
    let each = arms.iter().map(|arm| {
        let median = arm.figures.median.unwrap_or_default();
        let turns = arm.figures.round_trips.map_or(String::new(), |turns| {
            format!(" in {} round trips", trips(turns))
        });
        let name = clean(&arm.name);
        let published = arm.published.map_or(String::new(), |published| {
            format!(", published {}", ms(published))
        });
        format!(
            "{name} {}{turns}{published}",
            with_unit(median, &clean(&arm.unit))
        )
    });
    format!("Medians: {}.", each.collect::<Vec<String>>().join("; "))
}
