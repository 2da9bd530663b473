//! All ways on one scale: a bar for the run nearest to the median, a dot for each run, and a
//! diamond for the prediction.

use maud::{Markup, html};
use roundtrip_report::html::{bar, percent, swatch};
use roundtrip_report::{Party, clean, ms};

use crate::outcome::{Comparison, MeasuredWay};
use crate::text::round_trips;

const ROW: usize = 50;
const BAR: usize = 14;
/// The top of a bar, below the text of its row.
const BAR_TOP: usize = 20;
/// Round trips closer than this share of the scale are drawn as hatching, not as marks.
const CLOSEST: f64 = 1.0 / 40.0;

pub(super) fn figure(c: &Comparison) -> Markup {
    let lines: Vec<&MeasuredWay> = std::iter::once(&c.baseline)
        .chain(&c.lines)
        .filter(|line| !line.samples.is_empty())
        .collect();
    if lines.is_empty() {
        return html! {};
    }
    let scale = reach(&lines);
    let rtt = c.rtt_ms.filter(|rtt| *rtt >= scale * CLOSEST);
    html! {
        h2 { "All ways on one scale" }
        figure {
            (legend(&lines))
            svg.ways width="100%" height=(lines.len() * ROW) role="img" aria-labelledby="ways-t ways-d" {
                title id="ways-t" { "What each way takes" }
                desc id="ways-d" { (description(&lines)) }
                @for (place, line) in lines.iter().enumerate() { (row(line, place * ROW, scale, rtt)) }
            }
            figcaption {
                "In ms, one request from its beginning to the end of its answer. The bar is the run nearest to the median, in the colours of the parties that it waited for"
                @if rtt.is_some() { ", cut at each round trip" }
                "; each run is a dot, and the diamond is what arithmetic predicts."
            }
        }
    }
}

fn reach(lines: &[&MeasuredWay]) -> f64 {
    let samples = lines.iter().flat_map(|line| &line.samples);
    let all = samples.map(|(_, sample)| sample.ms);
    let predicted = lines.iter().filter_map(|line| Some(line.predicted?.ms));
    all.chain(predicted)
        .filter(|v| v.is_finite())
        .fold(0.0, f64::max)
        * 1.02
}

fn legend(lines: &[&MeasuredWay]) -> Markup {
    let seen = |party: &&Party| {
        let typical = lines.iter().filter_map(|line| line.typical()?.waited);
        typical.map(|w| party.share(&w)).sum::<f64>() > 0.0
    };
    html! {
        ul.legend {
            @for party in Party::BY_WEIGHT.iter().filter(seen) { li { (swatch(*party)) (party.name()) } }
            li { svg.swatch.predicted width="12" height="12" aria-hidden="true" { path d="M6 0 L12 6 L6 12 L0 6 Z" {} } "predicted" }
        }
    }
}

fn row(line: &MeasuredWay, top: usize, scale: f64, rtt: Option<f64>) -> Markup {
    let (bar_top, dots) = (top + BAR_TOP, top + BAR_TOP + BAR + 6);
    let median = line.median().unwrap_or_default();
    html! {
        g {
            text.label x="0" y=(top + 13) { (clean(&line.way.title())) tspan.quiet { " " (clean(&line.way.word())) } }
            @if let Some(trips) = line.round_trips() {
                text.value.trips x="100%" dx="-62" y=(top + 13) { (crate::disagreement::trips(trips)) " RT" }
            }
            text.value x="100%" y=(top + 13) { (ms(median)) }
            rect.track x="0" width="100%" y=(bar_top) height=(BAR) rx="2" {}
            @match line.typical().and_then(|s| s.waited) {
                Some(waited) => { (bar(0.0, &waited, scale, bar_top, BAR)) },
                None => { rect.silent x="0" width=(percent(median, scale)) y=(bar_top) height=(BAR) {} },
            }
            @if let Some(rtt) = rtt { (cuts(median, rtt, scale, bar_top)) }
            g.runs {
                @for (block, sample) in &line.samples {
                    circle cx=(percent(sample.ms, scale)) cy=(dots) r="2.5" { title { "block " (block + 1) ": " (ms(sample.ms)) " ms" } }
                }
            }
            @if let Some(predicted) = line.predicted {
                g.predicted {
                    title { "predicted: " (ms(predicted.ms)) " ms, " (round_trips(predicted.round_trips)) }
                    svg x=(percent(predicted.ms, scale)) y=(bar_top) width="1" height=(BAR) { path d="M0 1 L6 7 L0 13 L-6 7 Z" {} }
                }
            }
        }
    }
}

fn cuts(far: f64, rtt: f64, scale: f64, top: usize) -> Markup {
    let at = (1..64).map(|n| f64::from(n) * rtt);
    html! {
        g.cuts { @for at in at.take_while(|at| *at <= far) {
            @let x = percent(at, scale);
            line x1=(x) x2=(x) y1=(top) y2=(top + BAR) {}
        } }
    }
}

fn description(lines: &[&MeasuredWay]) -> String {
    let each = lines.iter().map(|line| {
        let median = ms(line.median().unwrap_or_default());
        let predicted = line
            .predicted
            .map_or(String::new(), |p| format!(", predicted {}", ms(p.ms)));
        format!("{} {median} ms{predicted}", clean(&line.way.title()))
    });
    format!("Medians: {}.", each.collect::<Vec<String>>().join("; "))
}
