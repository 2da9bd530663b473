//! What each arm cost either side: bars of the median round, divided into time of the program, time
//! of the kernel, and interrupts.

use maud::{Markup, html};
use roundtrip_model::Summary;
use roundtrip_report::clean;
use roundtrip_report::html::percent;

use super::amount;
use crate::account::{Usage, readings};
use crate::outcome::{PerfArmOutcome, PerfOutcome, Visit};
use crate::plan::Work;

const ROW: usize = 66;
const BAR: usize = 14;
/// The vertical offset of the sender's bar, below the row's name, and of the receiver's below that.
const SENDER: usize = 20;
const RECEIVER: usize = 38;
/// The right end of the scale, relative to the longest bar: its figure needs room.
const REACH: f64 = 1.55;

/// The parts of a bar, each with its hatching.
const PARTS: [(&str, &str); 3] = [
    ("the program", "url(#network)"),
    ("the kernel", "url(#server)"),
    ("interrupts outside the threads", "url(#loss)"),
];

pub(super) fn section(outcome: &PerfOutcome) -> Markup {
    let arms: Vec<&PerfArmOutcome> = outcome
        .arms
        .iter()
        .filter(|arm| arm.figures.sender.is_some())
        .collect();
    let unit = outcome.unit();
    let both = |arm: &&PerfArmOutcome| [arm.figures.sender, arm.figures.receiver];
    let spreads = arms.iter().flat_map(both).flatten();
    let scale = spreads.map(|s| s.max).fold(0.0, f64::max) * REACH;
    html! {
        h2 { "What each way costs each side" }
        figure {
            (legend())
            svg.costs width="100%" height=(arms.len() * ROW) role="img" aria-labelledby="costs-t costs-d" {
                title id="costs-t" { "CPU time of sender and receiver, " (unit) }
                desc id="costs-d" { (description(&arms, unit)) }
                @for (place, arm) in arms.iter().enumerate() {
                    text.label x="0" y=(place * ROW + 14) { (clean(&arm.arm.to_string())) }
                    @let work = &outcome.plan.work;
                    @let sender = |visit: &Visit| visit.sender(work).usage;
                    @let receiver = |visit: &Visit| visit.receiver(work).usage;
                    (bar(arm, arm.figures.sender, &sender, work, scale, place * ROW + SENDER, unit, "sender"))
                    (bar(arm, arm.figures.receiver, &receiver, work, scale, place * ROW + RECEIVER, unit, "receiver"))
                }
            }
            figcaption {
                "In " (unit) " of one core: the upper bar is the sender, the lower the receiver. A bar is the round nearest to the median; the line spans all rounds, and the figure is their median. "
                "How a thread's time divides between the program and the kernel is sampled. " (interrupts(outcome))
            }
        }
    }
}

fn legend() -> Markup {
    html! {
        ul.legend {
            @for (name, fill) in PARTS {
                li { svg.swatch width="12" height="12" aria-hidden="true" { rect width="12" height="12" rx="2" fill=(fill) {} } (name) }
            }
        }
    }
}

/// A note about the interrupts' part, which depends on the kernel.
fn interrupts(outcome: &PerfOutcome) -> &'static str {
    let pin = outcome.plan.pin;
    match pin.sender.or(pin.receiver) {
        None => "No side was pinned to a core, so interrupts outside its threads were not counted.",
        Some(_) if readings::counts_apart() => {
            "This kernel counts interrupts apart from the threads that they interrupt."
        }
        Some(_) => {
            "This kernel counts an interrupt as the time of the thread that it interrupts; outside the threads is what it left to ksoftirqd. Interrupts that strike an idle core are not counted: the table says how much they can be."
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "a bar is where and what")]
fn bar(
    arm: &PerfArmOutcome,
    spread: Option<Summary>,
    usage: &dyn Fn(&Visit) -> Usage,
    work: &Work,
    scale: f64,
    top: usize,
    unit: &str,
    side: &str,
) -> Markup {
    let Some(spread) = spread else {
        return html! {};
    };
    let parts = typical(arm, spread.median, usage, work);
    let mut from = 0.0;
    let parts = parts.map(|part| {
        from += part;
        (from - part, part)
    });
    let (low, high) = (percent(spread.min, scale), percent(spread.max, scale));
    let middle = top + BAR / 2;
    html! {
        g {
            @for ((from, part), (name, fill)) in parts.into_iter().zip(PARTS) {
                @if part > 0.0 {
                    rect x=(percent(from, scale)) width=(percent(part, scale)) y=(top) height=(BAR) fill=(fill) {
                        title { (side) ", " (name) ": " (amount(part, unit)) " " (unit) }
                    }
                }
            }
            @if spread.n > 1 {
                line.spread x1=(low) x2=(high) y1=(middle) y2=(middle) {}
            }
            text.figure x=(percent(spread.max.max(from), scale)) dx="7" y=(top + 12) {
                (amount(spread.median, unit)) tspan.quiet { " " (side) }
            }
        }
    }
}

/// The times of program, kernel and interrupts, in the round nearest to the median.
fn typical(
    arm: &PerfArmOutcome,
    median: f64,
    usage: &dyn Fn(&Visit) -> Usage,
    work: &Work,
) -> [f64; 3] {
    let costs = arm.visits.iter().filter_map(|visit| {
        let usage = usage(visit);
        Some((usage, visit.cost(&usage, work)?))
    });
    let distance = |cost: f64| (cost - median).abs();
    let nearest = costs.min_by(|one, other| distance(one.1).total_cmp(&distance(other.1)));
    nearest.map_or([0.0; 3], |(usage, cost)| parts(&usage, cost))
}

/// Divides a cost in proportion to the usage. If no sample met the thread, all of its time counts
/// as kernel time: most of it is spent there.
pub(super) fn parts(usage: &Usage, cost: f64) -> [f64; 3] {
    let cpu = usage.cpu().as_secs_f64();
    if cpu <= 0.0 {
        return [0.0; 3];
    }
    let thread = cost * usage.thread.as_secs_f64() / cpu;
    let sampled = (usage.user + usage.system).as_secs_f64();
    let program = if sampled > 0.0 {
        thread * usage.user.as_secs_f64() / sampled
    } else {
        0.0
    };
    [program, thread - program, cost - thread]
}

fn description(arms: &[&PerfArmOutcome], unit: &str) -> String {
    let figure = |spread: Option<Summary>| {
        spread.map_or_else(|| "unknown".into(), |s| amount(s.median, unit))
    };
    let each = arms.iter().map(|arm| {
        format!(
            "{}: sender {}, receiver {}",
            arm.arm,
            figure(arm.figures.sender),
            figure(arm.figures.receiver)
        )
    });
    format!("In {unit}. {}.", each.collect::<Vec<_>>().join("; "))
}
