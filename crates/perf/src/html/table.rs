//! All figures of all arms as a table: medians of the rounds, with their range if one number would
//! hide it.

use maud::{Markup, html};
use roundtrip_model::Summary;
use roundtrip_report::clean;

use super::amount;
use crate::engine::{SideReport, WireCounters};
use crate::outcome::{PerfArmOutcome, PerfOutcome, Visit};
use crate::ratio::RatioInterval;

/// A row of the table. Arms are columns, so that a page with few arms stays narrow.
type Row = (&'static str, Figure);
type Figure = Box<dyn Fn(&PerfArmOutcome) -> Option<String>>;

pub(super) fn section(outcome: &PerfOutcome) -> Markup {
    let arms: Vec<&PerfArmOutcome> = outcome.arms.iter().collect();
    html! {
        h2 { "All figures" }
        div.scroll { table.figures {
            thead { tr {
                th scope="col" { "Medians of the rounds" }
                @for arm in &arms { th scope="col" { (clean(&arm.arm.to_string())) } }
            } }
            tbody {
                @for (name, figure) in rows(outcome) {
                    @let cells: Vec<Option<String>> = arms.iter().map(|arm| figure(arm)).collect();
                    @if cells.iter().any(Option::is_some) {
                        tr {
                            th scope="row" { (name) }
                            @for cell in cells { td { (cell.unwrap_or_else(|| "–".into())) } }
                        }
                    }
                }
            }
        } }
    }
}

fn rows(outcome: &PerfOutcome) -> Vec<Row> {
    let mut rows = costs(outcome);
    rows.extend(requests());
    rows.extend(wires(outcome));
    rows.push((
        "Bottleneck",
        Box::new(|arm| Some(arm.figures.bottleneck.word().into())),
    ));
    rows
}

fn costs(outcome: &PerfOutcome) -> Vec<Row> {
    let work = outcome.plan.work;
    let unit = outcome.unit();
    let (sender, receiver) = match unit {
        "s/GB" => ("Sender, s/GB", "Receiver, s/GB"),
        _ => ("Sender, µs/request", "Receiver, µs/request"),
    };
    let spread = move |summary: Summary| {
        let [median, min, max] =
            [summary.median, summary.min, summary.max].map(|value| amount(value, unit));
        if summary.n > 1 {
            format!("{median} ({min}–{max})")
        } else {
            median
        }
    };
    vec![
        ("Rounds", Box::new(|arm| Some(arm.visits.len().to_string()))),
        (
            "Gbit/s",
            Box::new(|arm| arm.figures.gigabits.map(|s| format!("{:.2}", s.median))),
        ),
        (sender, Box::new(move |arm| arm.figures.sender.map(spread))),
        (
            "× TLS",
            Box::new(|arm| quotient(arm.figures.ratio_to_tls, arm.figures.ratio_interval)),
        ),
        (
            receiver,
            Box::new(move |arm| arm.figures.receiver.map(spread)),
        ),
        (
            "× TLS, both sides",
            Box::new(|arm| {
                let both = arm.figures.both_to_tls?;
                quotient(Some(both.ratio), both.interval)
            }),
        ),
        (
            "Not counted of the sender's core, at most",
            Box::new(move |arm| arm.uncounted(&work)[0].map(|more| amount(more, unit))),
        ),
        (
            "Not counted of the receiver's core, at most",
            Box::new(move |arm| arm.uncounted(&work)[1].map(|more| amount(more, unit))),
        ),
    ]
}

fn quotient(ratio: Option<f64>, interval: Option<RatioInterval>) -> Option<String> {
    let interval = interval.map_or_else(String::new, |i| format!(" [{:.2}–{:.2}]", i.low, i.high));
    ratio.map(|ratio| format!("{ratio:.2}{interval}"))
}

fn requests() -> Vec<Row> {
    let quantile = |share: f64| -> Figure {
        Box::new(move |arm| {
            let latencies = &arm.figures.latencies;
            let us = latencies.quantile(share).as_secs_f64() * 1e6;
            (latencies.total() > 0).then(|| format!("{us:.0}"))
        })
    };
    vec![
        (
            "Requests/s",
            Box::new(|arm| {
                let rate = arm.figures.requests_per_second?;
                Some(format!("{:.0}", rate.median))
            }),
        ),
        ("Answer, median µs", quantile(0.5)),
        ("Answer, 99th percentile µs", quantile(0.99)),
    ]
}

fn wires(outcome: &PerfOutcome) -> Vec<Row> {
    let work = outcome.plan.work;
    let of = |figure: fn(&WireCounters) -> Option<f64>, sends: bool, digits: usize| -> Figure {
        Box::new(move |arm| {
            let side = |visit: &Visit| -> SideReport {
                if sends {
                    visit.sender(&work).clone()
                } else {
                    visit.receiver(&work).clone()
                }
            };
            let all: Vec<f64> = arm
                .visits
                .iter()
                .filter_map(|visit| figure(&side(visit).wire))
                .collect();
            Summary::from_samples(&all).map(|s| format!("{:.digits$}", s.median))
        })
    };
    vec![
        ("Packets sent", of(|w| number(w.packets_sent), true, 0)),
        (
            "Calls that sent them",
            of(|w| number(w.send_calls), true, 0),
        ),
        (
            "Packets a call",
            of(|w| ratio(w.packets_sent, w.send_calls), true, 1),
        ),
        (
            "Largest payload of a packet",
            of(|w| number(w.largest), true, 0),
        ),
        (
            "Acknowledgements received",
            of(|w| number(w.acks_received), true, 0),
        ),
        (
            "Packets for each of them",
            of(|w| ratio(w.packets_sent, w.acks_received), true, 1),
        ),
        ("Packets considered lost", of(|w| number(w.lost), true, 0)),
        (
            "Packets sent again",
            of(|w| number(w.retransmitted), true, 0),
        ),
        (
            "Calls of the receiver",
            of(|w| number(w.receive_calls), false, 0),
        ),
        (
            "Packets per call of the receiver",
            of(|w| ratio(w.packets_received, w.receive_calls), false, 1),
        ),
    ]
}

fn number(count: Option<u64>) -> Option<f64> {
    count.map(|count| count as f64)
}

fn ratio(count: Option<u64>, over: Option<u64>) -> Option<f64> {
    let over = over.filter(|over| *over > 0)?;
    Some(count? as f64 / over as f64)
}
