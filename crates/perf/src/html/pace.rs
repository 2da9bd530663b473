//! Who set the pace of each arm, in words, and how busy both sides were.

use maud::{Markup, html};
use roundtrip_model::Summary;
use roundtrip_report::clean;

use crate::account::Usage;
use crate::outcome::{ArmOutcome, Outcome, Visit};
use crate::plan::Work;
use crate::verdict::Bottleneck;

pub(super) fn section(outcome: &Outcome) -> Markup {
    let work = &outcome.plan.work;
    html! {
        h2 { "Who set the pace" }
        ul.pace {
            @for arm in outcome.arms.iter().filter(|arm| !arm.visits.is_empty()) {
                li { b { (clean(&arm.arm.to_string())) } " " (sentence(arm, work)) }
            }
        }
    }
}

fn sentence(arm: &ArmOutcome, work: &Work) -> String {
    let sender = busy(arm, &|visit| visit.sender(work).usage);
    let receiver = busy(arm, &|visit| visit.receiver(work).usage);
    let why = match arm.figures.bottleneck {
        Bottleneck::Sender => "the sender: its core had no more to give",
        Bottleneck::Receiver => "the receiver: its core had no more to give, and the sender waited",
        Bottleneck::Both => "both sides: neither core had more to give",
        Bottleneck::Others => "something else that ran on these cores: compare costs, not speeds",
        Bottleneck::Path => "the path: packets were lost, and no side was short of time",
        Bottleneck::Window => {
            "a window: the receiver, or its own buffer, did not allow the sender more"
        }
        Bottleneck::Neither => "none of what is looked at: no core was full, nothing was lost",
    };
    let speed = arm
        .figures
        .gigabits
        .map_or_else(String::new, |s| format!(" at {:.2} Gbit/s", s.median));
    format!(
        "{why}{speed}. The sender was busy {sender} of the time, the receiver {receiver}{}.",
        rounds(arm)
    )
}

/// More than one verdict is told from how many rounds it was.
fn rounds(arm: &ArmOutcome) -> String {
    match arm.visits.len() {
        1 => String::new(),
        n => format!(" (medians of {n} rounds)"),
    }
}

fn busy(arm: &ArmOutcome, usage: &dyn Fn(&Visit) -> Usage) -> String {
    let shares: Vec<f64> = arm
        .visits
        .iter()
        .map(|visit| usage(visit).share() * 100.0)
        .collect();
    Summary::of(&shares).map_or_else(|| "-".into(), |s| format!("{:.0} %", s.median))
}
