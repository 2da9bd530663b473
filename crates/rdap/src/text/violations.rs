//! Violations of the standards, for people.

use roundtrip_report::terminal::Tone;

use super::Style;
use super::page::Page;
use crate::check::{Severity, Violation};

/// A line or two for each violation, the worst first, and their number.
pub fn violations(found: &[Violation], style: &Style) -> String {
    let mut page = Page::new(style.terminal);
    for violation in found {
        let check = violation.check;
        let tone = match check.severity {
            Severity::Error => Tone::Bad,
            Severity::Warning => Tone::Warn,
            Severity::Info => Tone::Faint,
        };
        page.flow(tone, check.severity.word(), 2);
        page.tab(9);
        page.flow(Tone::Strong, check.id, 9);
        if !violation.pointer.is_empty() {
            page.space();
            page.space();
            page.flow(Tone::Plain, &violation.pointer, 9);
        }
        page.end_line();
        page.tab(9);
        page.flow(Tone::Plain, check.rule, 9);
        if !violation.found.is_empty() {
            page.space();
            page.flow(Tone::Plain, &format!("— found {}", violation.found), 9);
        }
        page.space();
        page.flow(Tone::Faint, &format!("({})", check.source), 9);
        page.end_line();
    }
    let severities: Vec<Severity> = found.iter().map(|v| v.check.severity).collect();
    counts(&mut page, &severities);
    page.finish()
}

/// A line that says how many there are of each severity.
pub(super) fn counts(page: &mut Page, found: &[Severity]) {
    let count = |severity| found.iter().filter(|s| **s == severity).count() as u64;
    let counts = [
        roundtrip_report::count(count(Severity::Error), "error", "errors"),
        roundtrip_report::count(count(Severity::Warning), "warning", "warnings"),
        roundtrip_report::count(count(Severity::Info), "note", "notes"),
    ];
    let tone = if found.is_empty() {
        Tone::Good
    } else {
        Tone::Strong
    };
    page.flow(tone, &counts.join(", "), 2);
    page.end_line();
}
