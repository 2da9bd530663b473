//! An outcome for a terminal: what was done, a line for each arm, what to know about the figures.

use std::fmt::Write;

use roundtrip_model::Summary;
use roundtrip_report::terminal::{Cell, Style, Table, Tone};

use crate::outcome::{PerfArmOutcome, PerfOutcome};
use crate::plan::{Amount, Pattern, PerfPlan, Terrain};
use crate::verdict::Bottleneck;

pub(crate) const INTERRUPTED: &str = "Interrupted before all was measured: this is what there was.";

pub fn render(outcome: &PerfOutcome, style: Style) -> String {
    let mut out = String::new();
    let [first, second] = conditions(&outcome.plan, style);
    let _ = writeln!(out, "{}", style.paint(Tone::Strong, &first));
    let _ = writeln!(out, "{}\n", style.paint(Tone::Faint, &second));
    out.push_str(&table(outcome, style));
    for note in notes(outcome) {
        let _ = writeln!(out, "\n{note}");
    }
    out
}

pub(crate) fn conditions(plan: &PerfPlan, style: Style) -> [String; 2] {
    let dot = if style.unicode { " · " } else { " | " };
    let work = &plan.work;
    let amount = match work.amount {
        Amount::For(time) => format!("{:.1} s", time.as_secs_f64()),
        Amount::Bytes(bytes) => format!("{bytes} bytes"),
    };
    let counted = |n: u32, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let first = [
        format!("perf: {}", work.pattern),
        counted(work.connections, "connection"),
        counted(work.streams, "stream"),
        format!("{amount}, {}", counted(plan.rounds, "round")),
    ];
    let controls: Vec<&str> = plan
        .arms
        .iter()
        .map(|a| a.knobs.congestion.word())
        .collect();
    let second = [
        place(&plan.terrain),
        cores(plan),
        unique(&controls).join(", "),
    ];
    [first.join(dot), second.join(dot)]
}

fn place(terrain: &Terrain) -> String {
    let Some(ends) = terrain.ends() else {
        return match terrain {
            Terrain::Remote(host) => format!("server on {host}"),
            _ => String::new(),
        };
    };
    let offload = if ends.offload { "on" } else { "off" };
    let words: Vec<String> = match terrain {
        Terrain::Emulated(words, _) => words
            .iter()
            .map(|(w, value)| format!("{w} {value}"))
            .collect(),
        _ => vec![format!("MTU {}", ends.mtu)],
    };
    let kind = match terrain {
        Terrain::Emulated(..) => "an emulated path",
        _ => "a bare wire",
    };
    format!(
        "{kind}, {}, segmentation offload {offload}",
        words.join(", ")
    )
}

fn cores(plan: &PerfPlan) -> String {
    match (plan.pin.sender, plan.pin.receiver) {
        (Some(sender), Some(receiver)) => {
            format!("sender on CPU {sender}, receiver on CPU {receiver}")
        }
        _ => "on any CPU".into(),
    }
}

fn table(outcome: &PerfOutcome, style: Style) -> String {
    let asks = matches!(
        outcome.plan.work.pattern,
        Pattern::Requests { .. } | Pattern::Mixed { .. }
    );
    let unit = outcome.unit();
    let (sender, receiver) = (format!("sender {unit}"), format!("receiver {unit}"));
    let mut heads = vec![
        "arm",
        "Gbit/s",
        &sender,
        "min-max",
        "x TLS",
        &receiver,
        "packets/call",
        "acks",
        "lost",
    ];
    if asks {
        heads.extend(["requests/s", "p50 us", "p99 us"]);
    }
    heads.push("bottleneck");
    let mut table = Table::new(0);
    table.line(Tone::Faint, heads.into_iter().map(Cell::plain));
    for arm in &outcome.arms {
        table.row(row(arm, outcome, asks).into_iter().map(Cell::plain));
    }
    table.whole(&style)
}

fn row(arm: &PerfArmOutcome, outcome: &PerfOutcome, asks: bool) -> Vec<String> {
    let figures = &arm.figures;
    let work = &outcome.plan.work;
    let digits = if outcome.unit() == "s/GB" { 3 } else { 1 };
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".into(), |value| format!("{value:.digits$}"))
    };
    let median = |summary: Option<Summary>, digits| number(summary.map(|s| s.median), digits);
    let wires: Vec<_> = arm.visits.iter().map(|v| v.sender(work).wire).collect();
    let over = |figure: &dyn Fn(&crate::engine::WireCounters) -> Option<u64>| {
        let all: Vec<f64> = wires.iter().filter_map(figure).map(|n| n as f64).collect();
        Summary::of(&all).map(|summary| summary.median)
    };
    let datagrams = over(&|wire| wire.packets_sent);
    let sends = over(&|wire| wire.send_calls).filter(|calls| *calls > 0.0);
    let mut cells = vec![
        arm.arm.to_string(),
        median(figures.gigabits, 2),
        median(figures.sender, digits),
        figures.sender.map_or_else(
            || "-".into(),
            |s| format!("{:.digits$}-{:.digits$}", s.min, s.max),
        ),
        number(figures.ratio_to_tls, 2),
        median(figures.receiver, digits),
        number(
            datagrams
                .zip(sends)
                .map(|(datagrams, sends)| datagrams / sends),
            1,
        ),
        number(over(&|wire| wire.acks_received), 0),
        number(over(&|wire| wire.lost.or(wire.retransmitted)), 0),
    ];
    if asks {
        let us = |share| figures.latencies.quantile(share).as_secs_f64() * 1e6;
        cells.push(median(figures.requests_per_second, 0));
        cells.push(number(Some(us(0.5)), 0));
        cells.push(number(Some(us(0.99)), 0));
    }
    cells.push(figures.bottleneck.word().into());
    cells
}

/// What a reader would otherwise take for granted.
pub(crate) fn notes(outcome: &PerfOutcome) -> Vec<String> {
    let mut notes = Vec::new();
    if outcome.interrupted {
        notes.push(INTERRUPTED.into());
    }
    let found = |one: Bottleneck| outcome.arms.iter().any(|arm| arm.figures.bottleneck == one);
    if found(Bottleneck::Others) {
        notes.push(
            match outcome.plan.terrain {
                Terrain::Emulated(..) => {
                    "Something else ran on these CPUs, such as the relay of the emulated path: compare costs, not speeds."
                }
                _ => "Something else ran on these CPUs: the figures are less exact than the machine could give.",
            }
            .into(),
        );
    }
    if found(Bottleneck::Receiver) {
        notes.push("Where the receiver set the pace, Gbit/s is its limit; the sender's cost is still the sender's.".into());
    }
    if outcome
        .arms
        .iter()
        .any(|arm| arm.figures.ratio_to_tls.is_some())
    {
        notes.push("x TLS: what TLS cost the sender, divided by what the arm cost it. Above 1 is cheaper than TLS.".into());
    }
    if outcome.plan.pin.sender.is_none() {
        notes.push(
            "No side is kept on a CPU, so interrupts beside its threads are not counted.".into(),
        );
    }
    notes
}

fn unique<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    for word in words {
        if !seen.contains(word) {
            seen.push(word);
        }
    }
    seen
}
