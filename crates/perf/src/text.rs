//! An outcome for a terminal: what was done, a line for each arm, what to know about the figures.

use std::fmt::Write;

use roundtrip_model::{MIN_PAIRS, Summary};
use roundtrip_report::terminal::{Cell, Style, Table, Tone};

use crate::outcome::{PerfArmOutcome, PerfOutcome};
use crate::plan::{Amount, Pattern, PerfPlan, Terrain};
use crate::ratio::RatioInterval;
use crate::verdict::Bottleneck;

/// The uncounted time is mentioned if it is more than this share of a cost.
const UNCOUNTED_SHARE: f64 = 0.1;

pub(crate) const INTERRUPTED: &str =
    "Interrupted before everything was measured: these are the results so far.";

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
        "x TLS, both",
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
        Summary::from_samples(&all).map(|summary| summary.median)
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
        ratio(figures.ratio_to_tls, figures.ratio_interval),
        median(figures.receiver, digits),
        ratio(
            figures.both_to_tls.map(|both| both.ratio),
            figures.both_to_tls.and_then(|both| both.interval),
        ),
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

fn ratio(ratio: Option<f64>, interval: Option<RatioInterval>) -> String {
    let interval = interval.map_or_else(String::new, |i| format!(" [{:.2}-{:.2}]", i.low, i.high));
    ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}{interval}"))
}

/// Notes without which a reader would misunderstand the figures.
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
                _ => "Something else ran on these CPUs, so the figures are less exact than they could be.",
            }
            .into(),
        );
    }
    if found(Bottleneck::Receiver) {
        notes.push("Where the receiver set the pace, Gbit/s is its limit; the cost of the sender is valid nevertheless.".into());
    }
    if outcome
        .arms
        .iter()
        .any(|arm| arm.figures.ratio_to_tls.is_some())
    {
        notes.push("x TLS: what TLS cost the sender (both: sender and receiver), divided by what the arm cost. Above 1 is cheaper than TLS.".into());
    }
    let intervals = outcome
        .arms
        .iter()
        .filter_map(|arm| arm.figures.ratio_interval);
    if let Some(rounds) = intervals.map(|interval| interval.pairs).max() {
        notes.push(
            if rounds < MIN_PAIRS {
                "In brackets: the range of the ratio over the rounds, which are too few for a 95 % interval."
            } else {
                "In brackets: the 95 % interval of the ratio, of pairs from the same round."
            }
            .into(),
        );
    }
    notes.extend(uncounted(outcome));
    if outcome.plan.pin.sender.is_none() {
        notes.push(
            "No side is pinned to a CPU, so interrupts outside its threads are not counted.".into(),
        );
    }
    notes
}

/// A note about uncounted work of the cores, if it could change a comparison.
fn uncounted(outcome: &PerfOutcome) -> Option<String> {
    let work = &outcome.plan.work;
    let digits = if outcome.unit() == "s/GB" { 3 } else { 1 };
    let mut matters = false;
    let arms: Vec<String> = outcome
        .arms
        .iter()
        .filter_map(|arm| {
            let costs = [arm.figures.sender?, arm.figures.receiver?].map(|cost| cost.median);
            let [sender, receiver] = arm.uncounted(work);
            let missing = [sender?, receiver?];
            let shares = missing.iter().zip(costs);
            matters |= shares
                .clone()
                .any(|(more, cost)| *more > UNCOUNTED_SHARE * cost);
            let [sender, receiver] = missing;
            Some(format!(
                "{} {sender:.digits$} and {receiver:.digits$}",
                arm.arm
            ))
        })
        .collect();
    matters.then(|| {
        format!(
            "Not counted: interrupts that struck an idle core, and waking it. With other programs, they took at most (sender and receiver, {}): {}.",
            outcome.unit(),
            arms.join("; ")
        )
    })
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::account::Core;
    use crate::outcome::Visit;
    use crate::outcome::tests::{plan, visit};

    /// Makes a visit of 1000 ms, in which the receiver's core worked for 500 ms and was idle for
    /// `idle` ms.
    fn woken(idle: u64) -> Visit {
        let core = |idle| Core {
            idle: Duration::from_millis(idle),
            ..Core::default()
        };
        let mut visit = visit(900);
        visit.server.usage.core = Some(core(100));
        visit.client.usage.core = Some(core(idle));
        visit
    }

    #[test]
    fn uncounted_time_is_mentioned_where_it_matters() {
        let told = |idle| {
            let outcome = PerfOutcome::new(plan(&["tls"]), vec![vec![woken(idle); 2]]);
            render(&outcome, Style::default())
        };
        assert!(!told(480).contains("Not counted"), "{}", told(480));
        let text = told(300);
        assert!(text.contains("s/GB): tls 0.000 and 0.200."), "{text}");
    }

    #[test]
    fn an_interval_of_few_rounds_says_so() {
        let told = |rounds: u32| {
            let mut plan = plan(&["tls", "quic"]);
            plan.rounds = rounds;
            let visits = |cost| vec![visit(cost); rounds as usize];
            render(
                &PerfOutcome::new(plan, vec![visits(200), visits(400)]),
                Style::default(),
            )
        };
        assert!(told(3).contains("0.50 [0.50-0.50]"), "{}", told(3));
        assert!(told(3).contains("too few for a 95 %"), "{}", told(3));
        assert!(
            told(6).contains("the 95 % interval of the ratio"),
            "{}",
            told(6)
        );
        assert!(!told(1).contains('['), "{}", told(1));
    }
}
