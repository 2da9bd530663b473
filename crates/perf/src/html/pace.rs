//! What limited the rate of each arm, in words, and how busy both sides were.

use maud::{Markup, html};
use roundtrip_model::Summary;
use roundtrip_report::clean;

use crate::account::Usage;
use crate::outcome::{PerfArmOutcome, PerfOutcome, Visit};
use crate::plan::Work;
use crate::verdict::Bottleneck;

pub(super) fn section(outcome: &PerfOutcome) -> Markup {
    let work = &outcome.plan.work;
    html! {
        h2 { "Who set the pace" }
        ul.pace {
            @for arm in outcome.arms.iter().filter(|arm| !arm.visits.is_empty()) {
                li { b { (clean(&arm.arm.to_string())) } (sentence(arm, work)) }
            }
        }
    }
}

fn sentence(arm: &PerfArmOutcome, work: &Work) -> String {
    let sender = busy(arm, &|visit| visit.sender(work).usage);
    let receiver = busy(arm, &|visit| visit.receiver(work).usage);
    let who = match arm.figures.bottleneck {
        Bottleneck::Sender => "The sender set the pace: its core had no more to give.",
        Bottleneck::Receiver => {
            "The receiver set the pace: its core had no more to give, and the sender waited."
        }
        Bottleneck::Both => "Both sides set the pace: neither core had more to give.",
        Bottleneck::Others => {
            "Something else that ran on these cores set the pace: compare costs, not speeds."
        }
        Bottleneck::Path => {
            "The path set the pace: packets were lost, and neither side was short of time."
        }
        Bottleneck::Window => {
            "A window set the pace: the receiver, or its own buffer, did not allow the sender more."
        }
        Bottleneck::Neither => {
            "Nothing that is measured set the pace: no core was full, nothing was lost."
        }
    };
    let speed = arm
        .figures
        .gigabits
        .map_or_else(String::new, |s| format!(", {:.2} Gbit/s", s.median));
    format!("{speed}. {who} The sender was busy {sender} of the time, the receiver {receiver}.")
}

fn busy(arm: &PerfArmOutcome, usage: &dyn Fn(&Visit) -> Usage) -> String {
    let shares: Vec<f64> = arm
        .visits
        .iter()
        .map(|visit| usage(visit).share() * 100.0)
        .collect();
    Summary::from_samples(&shares).map_or_else(|| "-".into(), |s| format!("{:.0}\u{a0}%", s.median))
}
