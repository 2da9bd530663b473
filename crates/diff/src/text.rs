//! The comparison for a terminal: the answer first, then the tables that support it.

mod doctor;
mod layout;

use roundtrip_report::ms;
use roundtrip_report::terminal::{Style, Tone, clean, finished};

use crate::numbers::{Decimals, by_size, number, price, spread, title, trips};
use crate::{Diff, FactDiff, FindingDiff, Priced, ProbeDiff, Provenance, SideFigures, Weight};

const LABEL: usize = 18;
const NUMBER: usize = 10;
/// `A` or `B`.
const SIDE: usize = 3;
/// The longest label of a fact, and two spaces.
const FACT: usize = 32;

/// How to show a comparison.
pub struct TextOptions<'a> {
    pub style: Style,
    /// The names of A and B.
    pub files: (&'a str, &'a str),
    /// Whether to show only the paragraph with the conclusion.
    pub quiet: bool,
    /// Every fact that differs, and every part.
    pub verbose: bool,
}

/// The text of a comparison.
pub fn render(diff: &Diff, page: &TextOptions<'_>) -> String {
    match diff {
        Diff::Probe(diff) => page.probe(diff),
        Diff::Doctor(diff) => page.doctor(diff),
    }
}

impl TextOptions<'_> {
    fn probe(&self, diff: &ProbeDiff) -> String {
        let mut lines = self.paragraph(&diff.answer);
        if !self.quiet {
            lines.push(String::new());
            lines.extend(self.head(
                "A",
                self.files.0,
                &diff.urls.0,
                diff.failed.0,
                &diff.figures.0,
            ));
            lines.extend(self.made(&diff.made.0));
            lines.extend(self.head(
                "B",
                self.files.1,
                &diff.urls.1,
                diff.failed.1,
                &diff.figures.1,
            ));
            lines.extend(self.made(&diff.made.1));
            lines.push(String::new());
            lines.extend(self.phases(diff));
            lines.push(String::new());
            lines.extend(self.parts(diff));
            lines.extend(self.findings(&diff.findings, Decimals::from_diff(diff)));
            lines.extend(self.facts(&diff.facts));
        }
        finished(&lines)
    }

    fn head(
        &self,
        side: &str,
        file: &str,
        url: &str,
        failed: usize,
        figures: &SideFigures,
    ) -> Vec<String> {
        let rtt = figures
            .rtt_ms
            .map_or(String::new(), |rtt| format!(" of {} ms", ms(rtt)));
        let failed = if failed > 0 {
            format!(", {failed} failed")
        } else {
            String::new()
        };
        let text = format!(
            "{file}: {} ms, {}{rtt}; {}{failed}; {}",
            ms(figures.total.median),
            trips(figures.round_trips),
            spread(&figures.total),
            clean(url)
        );
        self.labelled(Tone::Strong, side, SIDE, &text)
    }

    /// When, where and by which version a side was measured, if its report says so.
    fn made(&self, by: &Provenance) -> Vec<String> {
        let told = by.told();
        told.map_or(Vec::new(), |told| {
            self.labelled(Tone::Faint, "", SIDE, &told)
        })
    }

    /// Each phase on both sides.
    fn phases(&self, diff: &ProbeDiff) -> Vec<String> {
        let decimals = Decimals::from_diff(diff);
        let heads = ["A, ms", "B, ms", "B − A"].map(|head| format!("{head:>NUMBER$}"));
        let mut lines = vec![self.paint(
            Tone::Faint,
            &format!("  {:LABEL$}{}  round trips", "", heads.concat()),
        )];
        for stage in &diff.stages {
            let (a, b) = stage.ms();
            let shown = |side: Option<f64>| decimals.maybe(side);
            let (ka, kb) = stage.round_trips();
            let counted = counts(ka, kb);
            let by = decimals.signed(b.unwrap_or(0.0) - a.unwrap_or(0.0));
            let label: String = title(&stage.name).chars().take(LABEL - 1).collect();
            let line = format!(
                "  {label:LABEL$}{:>NUMBER$}{:>NUMBER$}{by:>NUMBER$}  {counted}",
                shown(a),
                shown(b)
            );
            lines.push(self.paint(Tone::Plain, &line));
        }
        let (a, b) = (&diff.figures.0, &diff.figures.1);
        let total = format!(
            "  {:LABEL$}{:>NUMBER$}{:>NUMBER$}{:>NUMBER$}  {}",
            "total",
            decimals.plain(a.total.median),
            decimals.plain(b.total.median),
            decimals.signed(diff.difference.ms),
            counts(a.round_trips, b.round_trips)
        );
        lines.push(self.paint(Tone::Strong, &total));
        lines
    }

    /// Where the difference comes from. Parts that are too small for a line are summed up in one
    /// line.
    fn parts(&self, diff: &ProbeDiff) -> Vec<String> {
        let decimals = Decimals::from_diff(diff);
        let (shown, small) = by_size(diff, self.verbose);
        let mut lines = vec![self.paint(Tone::Faint, "  where the difference comes from, ms")];
        let rest: f64 = small.iter().map(|part| part.ms).sum();
        let row = |by: f64, text: &str| self.labelled(tone(by), &decimals.signed(by), NUMBER, text);
        for part in shown {
            let why = if part.why.is_empty() {
                String::new()
            } else {
                format!(": {}", clean(&part.why))
            };
            lines.extend(row(part.ms, &format!("{}{why}", clean(&part.what))));
        }
        if !small.is_empty() {
            lines.extend(row(rest, &format!("{} smaller parts", small.len())));
        }
        lines.extend(self.labelled(
            Tone::Strong,
            &decimals.signed(diff.difference.ms),
            NUMBER,
            "in all",
        ));
        lines
    }

    fn findings(&self, findings: &[FindingDiff], decimals: Decimals) -> Vec<String> {
        if findings.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![
            String::new(),
            self.paint(Tone::Faint, "  findings, and what they cost in ms"),
        ];
        let is_rare = |side: Option<&Priced>| side.is_none_or(|p| 2 * p.runs.0 < p.runs.1);
        let (rare, usual): (Vec<&FindingDiff>, Vec<&FindingDiff>) = findings
            .iter()
            .partition(|f| is_rare(f.a.as_ref()) && is_rare(f.b.as_ref()) && !self.verbose);
        for finding in usual {
            let text = format!(
                "{}: A {}, B {}",
                clean(&finding.id),
                price(finding.a.as_ref()),
                price(finding.b.as_ref())
            );
            lines.extend(self.labelled(
                tone(finding.ms()),
                &decimals.signed(finding.ms()),
                NUMBER,
                &text,
            ));
            let known = finding.b.as_ref().or(finding.a.as_ref());
            if let Some(remedy) = known.map(|p| clean(&p.remedy)).filter(|r| !r.is_empty()) {
                lines.extend(self.labelled(Tone::Faint, "remedy", NUMBER, &remedy));
            }
        }
        if !rare.is_empty() {
            let text = format!(
                "  {} in fewer than half of the runs (-v shows what)",
                rare.len()
            );
            lines.push(self.paint(Tone::Faint, &text));
        }
        lines
    }

    fn facts(&self, facts: &[FactDiff]) -> Vec<String> {
        if facts.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![
            String::new(),
            self.paint(Tone::Faint, "  facts that differ"),
        ];
        let label = (self.style.width / 3).min(FACT);
        let shown = |fact: &&FactDiff| self.verbose || fact.weight == Weight::Telling;
        let value = |side: &Option<String>| side.as_deref().map_or("none".into(), clean);
        for fact in facts.iter().filter(shown) {
            let text = format!("{} → {}", value(&fact.a), value(&fact.b));
            lines.extend(self.labelled(Tone::Faint, fact.label, label, &text));
        }
        let folded = facts.len() - facts.iter().filter(shown).count();
        if folded > 0 {
            let text = format!("  {folded} more that seldom matter (-v shows them)");
            lines.push(self.paint(Tone::Faint, &text));
        }
        lines
    }
}

/// The round trips on both sides, as text; empty if there are none.
fn counts(a: f64, b: f64) -> String {
    match (number(a), number(b)) {
        (a, b) if a == b && a == "0" => String::new(),
        (a, b) if a == b => a,
        (a, b) => format!("{a} → {b}"),
    }
}

/// Faster is good.
fn tone(by: f64) -> Tone {
    match by {
        by if by < 0.0 => Tone::Good,
        by if by > 0.0 => Tone::Problem,
        _ => Tone::Faint,
    }
}
