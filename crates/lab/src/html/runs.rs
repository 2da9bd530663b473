//! The run nearest to each arm's median as a waterfall: a lane for each request, with phases in the
//! colours of the parties that they waited for. Arms behind the same path share a scale.

use maud::{Markup, html};
use roundtrip_report::html::{Grid, bar, percent};
use roundtrip_report::{clean, count, ms};

use super::arms::{FIGURES, line_for_figures, tops, value};
use super::scale::{median_run, waited};
use crate::LabOutcome;
use crate::outcome::{ArmOutcome, PhaseSpan};

/// The largest number of lanes: further ones would repeat the ones before them.
const MAX_LANES: usize = 3;
const LANE: usize = 20;
const BAR: usize = 16;
const HEAD: usize = 22;
/// The smallest share of the scale at which a wait has room for its phase's name.
const MIN_NAMED: f64 = 0.075;

pub(super) fn section(outcome: &LabOutcome, key: usize) -> Markup {
    let told: Vec<&ArmOutcome> = outcome.arms.iter().filter(|a| is_shown(a)).collect();
    if told.is_empty() {
        return html! {};
    }
    let groups = by_path(&told);
    html! {
        h2 { "The median run of each arm, as a waterfall" }
        @for (place, group) in groups.iter().enumerate() { (figure(group, &format!("{key}-{place}"))) }
        p.legend-note {
            "Each lane is a request, in time from left to right; the figure beside the name is its end, in ms. The colours are those above; 'reply' is the wait from the request's last byte to the answer's first."
        }
    }
}

fn is_shown(arm: &ArmOutcome) -> bool {
    !arm.phases.is_empty() && !arm.control
}

fn by_path<'a>(arms: &[&'a ArmOutcome]) -> Vec<Vec<&'a ArmOutcome>> {
    let mut groups: Vec<Vec<&ArmOutcome>> = Vec::new();
    for arm in arms {
        let same = |group: &&mut Vec<&ArmOutcome>| {
            let first = group.first().and_then(|first| first.path.rtt_ms());
            first == arm.path.rtt_ms()
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(arm),
            None => groups.push(vec![arm]),
        }
    }
    groups
}

fn figure(arms: &[&ArmOutcome], key: &str) -> Markup {
    let rtt = arms.first().and_then(|arm| arm.path.rtt_ms());
    let longest = arms.iter().map(|arm| length(arm)).fold(0.0, f64::max);
    let scale = longest * 1.01;
    let grid = Grid::new(scale, rtt);
    let heights: Vec<usize> = arms.iter().map(|arm| height(arm)).collect();
    let all: usize = heights.iter().sum();
    let (title, words) = (format!("runs-{key}-t"), format!("runs-{key}-d"));
    html! {
        figure {
            svg.lanes width="100%" height=(all + 18) role="img" aria-labelledby={ (title) " " (words) } {
                title id=(title) { "Waterfalls of the median runs" @if let Some(rtt) = rtt { " over a path of " (ms(rtt)) " ms" } }
                desc id=(words) { (description(arms)) }
                (grid.lines(4, all))
                @for (arm, top) in arms.iter().zip(tops(&heights)) { (lanes(arm, top, scale)) }
                (grid.labels(all + 16))
            }
            @if let Some(rtt) = rtt {
                figcaption {
                    @if grid.is_rtt() { "One line, one round trip of this path: " (ms(rtt)) " ms." }
                    @else { "A round trip of this path is " (ms(rtt)) " ms." }
                }
            }
        }
    }
}

fn height(arm: &ArmOutcome) -> usize {
    head(arm) + requests(arm).min(MAX_LANES) * LANE + 12
}

/// The height of the text above the lanes.
fn head(arm: &ArmOutcome) -> usize {
    HEAD + line_for_figures(&format!("{}{}", clean(&arm.name), shortened(arm)), FIGURES)
}

/// What the label says if not all requests are shown.
fn shortened(arm: &ArmOutcome) -> String {
    match requests(arm) {
        all if all > MAX_LANES => {
            let all = count(all as u64, "request", "requests");
            format!(" the first {MAX_LANES} of {all}")
        }
        _ => String::new(),
    }
}

fn requests(arm: &ArmOutcome) -> usize {
    let last = arm.phases.iter().map(|span| span.request).max();
    last.map_or(0, |last| last + 1)
}

/// The time from the first phase's beginning to the last's end.
fn length(arm: &ArmOutcome) -> f64 {
    let shown = arm.phases.iter().filter(|span| span.request < MAX_LANES);
    shown
        .map(|span| span.start_ms + span.ms)
        .filter(|end| end.is_finite())
        .fold(0.0, f64::max)
}

fn lanes(arm: &ArmOutcome, top: usize, scale: f64) -> Markup {
    let shown = arm.phases.iter().filter(|span| span.request < MAX_LANES);
    let first = top + head(arm);
    html! {
        g {
            text.label x="0" y=(top + 14) {
                (clean(&arm.name))
                tspan.quiet { (shortened(arm)) }
            }
            (value(length(arm), turns(arm), first - 8))
            @for span in shown { (phase(span, first + span.request * LANE, scale)) }
        }
    }
}

/// The round trips of the run, if its figure covers everything that is shown.
fn turns(arm: &ArmOutcome) -> Option<f64> {
    let run = median_run(arm)?;
    let all = requests(arm) <= MAX_LANES && run.value >= length(arm) * 0.9;
    run.round_trips.filter(|_| all)
}

fn phase(span: &PhaseSpan, top: usize, scale: f64) -> Markup {
    let waits = waited(span.waited);
    // In a wait, the network's part comes first, except for losses and lookups.
    let from = span.start_ms + waits.loss + waits.resolver;
    html! {
        (bar(span.start_ms, &waits, scale, top, BAR))
        @if waits.network >= scale * MIN_NAMED {
            // A picture within the picture, so that a name is cut where its part ends.
            svg.name x=(percent(from, scale)) width=(percent(waits.network, scale)) y=(top) height=(BAR) {
                text x="5" y="12" { (short(span.name)) }
            }
        }
    }
}

fn short(name: &'static str) -> &'static str {
    match name {
        "setup" => "set-up",
        "tcp" => "TCP",
        "tls" => "TLS",
        "quic" => "QUIC",
        "first_byte" => "reply",
        other => other,
    }
}

fn description(arms: &[&ArmOutcome]) -> String {
    let each = arms.iter().map(|arm| {
        let turns: u32 = arm
            .phases
            .iter()
            .map(|span| span.round_trips)
            .max()
            .unwrap_or(0);
        let phases = arm
            .phases
            .iter()
            .filter(|span| span.request == 0 && span.ms >= 1.0);
        let phases: Vec<String> = phases
            .map(|span| format!("{} {} ms", short(span.name), ms(span.ms)))
            .collect();
        let waits = if turns == 0 {
            ", no wait for the path"
        } else {
            ""
        };
        format!(
            "{}, {} in {} ms{waits}; the first: {}",
            clean(&arm.name),
            count(requests(arm) as u64, "request", "requests"),
            ms(length(arm)),
            phases.join(", "),
        )
    });
    each.collect::<Vec<String>>().join(". ") + "."
}
