//! An outcome for a terminal: the question, a table of arms, the curve, the claims, and the command
//! that repeats it.

mod ladder;
#[cfg(test)]
pub(crate) use ladder::tests::sample as ladder_sample;

use std::fmt::Write;

use roundtrip_report::terminal::{Cell, Style, Table, Tone, clean};

use crate::LabOutcome;
use crate::experiment::Measure;
use crate::outcome::{ArmOutcome, ClaimOutcome, Curve};

/// The indentation of tables.
const INDENT: usize = 2;

/// The whole report.
pub fn render(outcome: &LabOutcome, style: Style) -> String {
    let page = LabTextPage { style };
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}",
        page.paint(
            Tone::Strong,
            &format!("{}: {}", outcome.experiment, outcome.question)
        )
    );
    let _ = writeln!(
        out,
        "{}\n",
        page.paint(Tone::Faint, &page.conditions(outcome))
    );
    out.push_str(&page.arms(outcome));
    for curve in &outcome.curves {
        out.push('\n');
        out.push_str(&page.curve(curve));
    }
    page.remarks(&mut out, outcome);
    if !outcome.claims.is_empty() {
        out.push('\n');
        for claim in &outcome.claims {
            let _ = writeln!(out, "{}", page.claim(claim));
        }
    }
    for arm in outcome.arms.iter().filter(|arm| !arm.packets.is_empty()) {
        out.push('\n');
        out.push_str(&ladder::ladder(&arm.name, &arm.packets, style));
    }
    let _ = writeln!(
        out,
        "\n{}",
        page.paint(Tone::Faint, &format!("again: {}", outcome.again))
    );
    out
}

struct LabTextPage {
    style: Style,
}

impl LabTextPage {
    /// Escapes the text and adds its tone. The text must be understandable without the tone.
    fn paint(&self, tone: Tone, text: &str) -> String {
        self.style.tint(tone, &clean(text))
    }

    fn conditions(&self, outcome: &LabOutcome) -> String {
        let dot = if self.style.unicode { "·" } else { "|" };
        let mut parts = vec![outcome.article.clone()];
        parts.extend(
            outcome
                .path
                .iter()
                .map(|(word, values)| format!("{word} {}", values.join(", "))),
        );
        parts.push(format!(
            "{} runs in random blocks (seed {})",
            outcome.runs, outcome.seed
        ));
        if outcome.interrupted {
            parts.push("interrupted: these are the results so far".into());
        }
        parts.join(&format!(" {dot} "))
    }

    fn arms(&self, outcome: &LabOutcome) -> String {
        let middle: &[&str] = match outcome.measure {
            Measure::Appconnect => &["trips", "network", "server", "client"],
            Measure::Rate => &["p90", "CPU µs"],
            Measure::Cost => &["p90", "receiver", "Gbit/s"],
            Measure::Total | Measure::Mean => &["p90", "trips"],
        };
        let first: &[&str] = match outcome.measure {
            Measure::Cost => &["arm", "of TLS", "published", "median", "min"],
            _ => &["arm", "median", "min"],
        };
        let last: &[&str] = match outcome.measure {
            Measure::Cost => &["saved"],
            _ => &["saved", "published"],
        };
        let head = [first, middle, last].concat();
        let mut table = headed(head);
        for arm in &outcome.arms {
            table.row(row(arm, outcome.measure));
        }
        let unit = match outcome.measure {
            Measure::Mean => format!("{} a request", outcome.unit),
            Measure::Cost => format!(
                "{} of the sender's processor; of TLS: the throughput of one sending core, relative to TLS over TCP",
                outcome.unit
            ),
            _ => outcome.unit.clone(),
        };
        table.fitted(&self.style)
            + &format!("  {}\n", self.paint(Tone::Faint, &format!("in {unit}")))
    }

    fn curve(&self, curve: &Curve) -> String {
        let values = curve.lines.first().map_or(Vec::new(), |line| {
            line.points
                .iter()
                .map(|point| point.value.as_str())
                .collect()
        });
        let mut head = vec![curve.word.as_str()];
        head.extend(values);
        let mut table = headed(head);
        for line in &curve.lines {
            let mut row = vec![Cell::plain(line.arm.clone())];
            for point in &line.points {
                row.push(match (point.figures.median, &point.not_run) {
                    (Some(_), _) => Cell::plain(number(point.figures.median)),
                    (None, Some(_)) => Cell::new(Tone::Faint, "-"),
                    (None, None) => Cell::new(Tone::Bad, "failed"),
                });
            }
            table.row(row);
        }
        table.fitted(&self.style)
    }

    /// Failures and notes beside the figures.
    fn remarks(&self, out: &mut String, outcome: &LabOutcome) {
        let mut lines = Vec::new();
        for arm in &outcome.arms {
            if arm.figures.median.is_some()
                && let Some(first) = arm.failures.first()
            {
                let n = arm.failures.len();
                lines.push(self.paint(
                    Tone::Bad,
                    &format!("{}: {n} of {} runs failed: {first}", arm.name, outcome.runs),
                ));
            }
            let noted = |note| self.paint(Tone::Plain, &format!("{}: {note}", arm.name));
            lines.extend(arm.notes.iter().map(noted));
        }
        lines.extend(outcome.disturbance());
        for line in outcome.curves.iter().flat_map(|curve| &curve.lines) {
            let failed = line
                .points
                .iter()
                .find_map(|p| Some((&p.name, p.failures.first()?)));
            lines
                .extend(failed.map(|(name, why)| self.paint(Tone::Bad, &format!("{name}: {why}"))));
        }
        if !lines.is_empty() {
            out.push('\n');
        }
        for line in lines {
            let _ = writeln!(out, "  {line}");
        }
    }

    fn claim(&self, claim: &ClaimOutcome) -> String {
        let (tone, sign) = match (claim.holds, self.style.unicode) {
            (Some(true), true) => (Tone::Good, "✓"),
            (Some(true), false) => (Tone::Good, "yes"),
            (Some(false), true) => (Tone::Bad, "✗"),
            (Some(false), false) => (Tone::Bad, "NO "),
            (None, _) => (Tone::Faint, "?"),
        };
        let mut figures = Vec::new();
        match claim.measured {
            Some(measured) => {
                figures.push(format!("measured {}", with_unit(measured, &claim.unit)));
            }
            None => figures.push("not measured".into()),
        }
        figures.extend(
            claim
                .published
                .map(|p| format!("published {}", with_unit(p, &claim.unit))),
        );
        let figures = self.paint(Tone::Faint, &format!("({})", figures.join(", ")));
        let text = self.paint(Tone::Plain, &claim.text);
        format!("{} {text} {figures}", self.paint(tone, sign))
    }
}

fn headed<'a>(titles: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new(INDENT);
    table.row(
        titles
            .into_iter()
            .map(|title| Cell::new(Tone::Faint, title)),
    );
    table
}

fn row(arm: &ArmOutcome, measure: Measure) -> Vec<Cell> {
    let name = if arm.warm {
        format!("{} (warm)", arm.name)
    } else {
        arm.name.clone()
    };
    let f = &arm.figures;
    if f.median.is_none() {
        let expected = arm.expected_failures.first();
        let (tone, why) = match (&arm.not_run, arm.failures.first(), expected) {
            (Some(missing), ..) => (Tone::Faint, format!("not run: {missing}")),
            (None, Some(failure), _) => (Tone::Bad, format!("failed: {failure}")),
            (None, None, Some(failure)) => (Tone::Faint, format!("fails as expected: {failure}")),
            (None, None, None) => (Tone::Faint, "not run".into()),
        };
        return vec![Cell::plain(name), Cell::long(tone, why)];
    }
    if measure == Measure::Cost {
        return transfer(name, arm);
    }
    let mut row = vec![
        Cell::plain(name),
        Cell::new(Tone::Strong, number(f.median)),
        Cell::plain(number(f.min)),
    ];
    let trips = Cell::plain(trips(f.round_trips));
    let plain = |value| Cell::plain(number(value));
    match measure {
        Measure::Appconnect => {
            row.push(trips);
            row.extend([f.network_ms, f.server_ms, f.client_ms].map(plain));
        }
        Measure::Rate => row.extend([f.p90, f.cpu_us].map(plain)),
        Measure::Total | Measure::Mean | Measure::Cost => row.extend([plain(f.p90), trips]),
    }
    row.extend([saved(arm), Cell::new(Tone::Faint, number(arm.published))]);
    row
}

fn transfer(name: String, arm: &ArmOutcome) -> Vec<Cell> {
    let f = &arm.figures;
    let exact = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
    let mut row = vec![
        Cell::plain(name),
        Cell::new(Tone::Strong, number(arm.ratio_to_tls)),
        Cell::new(Tone::Faint, number(arm.published_ratio)),
    ];
    let costs = [f.median, f.min, f.p90, f.receiver];
    row.extend(costs.map(|value| Cell::plain(exact(value))));
    row.extend([Cell::plain(number(f.gbit_per_s)), saved(arm)]);
    row
}

/// The saving, and how certain it is.
fn saved(arm: &ArmOutcome) -> Cell {
    let Some(saving) = &arm.saving else {
        return Cell::plain(String::new());
    };
    let share = saving.saving.share.unwrap_or(f64::NAN) * 100.0;
    match (saving.shown, arm.control) {
        (None, _) => Cell::plain(format!("{share:.1} %")),
        (Some(false), true) => Cell::new(Tone::Faint, "no drift shown"),
        (Some(false), false) => Cell::new(Tone::Faint, "no saving shown"),
        (Some(true), true) => Cell::new(Tone::Bad, format!("drift of {share:.1} %")),
        (Some(true), false) if share >= 0.0 => Cell::new(Tone::Good, format!("{share:.1} %")),
        (Some(true), false) => Cell::new(Tone::Bad, format!("{share:.1} %")),
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    let figure = if unit == "round trips" {
        trips(Some(value))
    } else {
        number(Some(value))
    };
    format!("{figure} {unit}").trim_end().to_owned()
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |v| match v.abs() {
        a if a < 20.0 => format!("{v:.2}"),
        _ => format!("{v:.1}"),
    })
}

/// `9`, `1.1`.
fn trips(value: Option<f64>) -> String {
    value.map_or(String::new(), |v| {
        let text = format!("{v:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    })
}
