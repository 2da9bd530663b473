//! The distances of runs from the median of their arm, on a finer scale than that of the arms.

use maud::{Markup, html};
use roundtrip_report::html::percent;
use roundtrip_report::{clean, ms};

use super::arms::band;
use super::scale::with_unit;
use crate::LabOutcome;
use crate::outcome::ArmOutcome;

const ROW: usize = 36;

pub(super) fn section(outcome: &LabOutcome, key: usize) -> Markup {
    let arms = outcome.arms.iter().filter(|arm| arm.samples.len() > 2);
    let arms: Vec<&ArmOutcome> = arms.collect();
    let most = arms.iter().map(|arm| farthest(arm)).fold(0.0, f64::max);
    if arms.is_empty() || most <= 0.0 {
        return html! {};
    }
    let height = arms.len() * ROW + 22;
    let (title, words) = (format!("distance-{key}-t"), format!("distance-{key}-d"));
    let unit = clean(&outcome.unit);
    html! {
        details.figure {
            summary { "How far the runs lie from their arm's median: up to " (with_unit(most, &unit)) }
            figure {
                svg.arms.distance width="100%" height=(height) role="img" aria-labelledby={ (title) " " (words) } {
                    title id=(title) { "Distance of each run from the median of its arm" }
                    desc id=(words) { (description(&arms, &unit)) }
                    line.centre x1="50%" x2="50%" y1="0" y2=(height - 18) {}
                    @for (place, arm) in arms.iter().enumerate() { (row(arm, place * ROW, most)) }
                    g.grid {
                        text.first x="0" y=(height - 4) { "−" (ms(most)) }
                        text x="50%" y=(height - 4) { "median" }
                        text.last x="100%" y=(height - 4) { "+" (with_unit(most, &unit)) }
                    }
                }
                figcaption { "Each run is a dot; the line spans the 10th to the 90th percentile." }
            }
        }
    }
}

fn farthest(arm: &ArmOutcome) -> f64 {
    let median = arm.figures.median.unwrap_or_default();
    let away = arm.samples.iter().map(|s| (s.value - median).abs());
    away.filter(|d| d.is_finite()).fold(0.0, f64::max)
}

fn row(arm: &ArmOutcome, top: usize, most: f64) -> Markup {
    let median = arm.figures.median.unwrap_or_default();
    let x = |value: f64| percent(value - median + most * 1.05, most * 2.1);
    let (low, high) = band(arm);
    let y = top + 24;
    html! {
        g.runs {
            text.label x="0" y=(top + 13) { (clean(&arm.name)) }
            line.axis x1="0" x2="100%" y1=(y) y2=(y) {}
            line x1=(x(low)) x2=(x(high)) y1=(y) y2=(y) {}
            @for sample in &arm.samples { circle cx=(x(sample.value)) cy=(y) r="3" {} }
        }
    }
}

fn description(arms: &[&ArmOutcome], unit: &str) -> String {
    let each = arms.iter().map(|arm| {
        let (low, high) = band(arm);
        format!(
            "{} from {} to {}",
            clean(&arm.name),
            ms(low),
            with_unit(high, unit)
        )
    });
    let each: Vec<String> = each.collect();
    format!("10th to 90th percentile: {}.", each.join("; "))
}
