//! The result of a server check, for people: rule by rule, with each request that violated it.

use roundtrip_report::terminal::Tone;

use super::Style;
use super::page::Page;
use super::violations::counts;
use crate::check::Severity;
use crate::check::server::Finding;

/// A line or two for each checked rule, with the requests that violated it, and the number of
/// violated rules.
pub fn server(findings: &[Finding], style: &Style) -> String {
    const WORDS: usize = 11;
    let mut page = Page::new(style.terminal);
    let mut told: Vec<&str> = Vec::new();
    let mut violated = Vec::new();
    for finding in findings {
        let check = finding.check;
        if told.contains(&check.id) {
            continue;
        }
        told.push(check.id);
        let same: Vec<&Finding> = findings.iter().filter(|f| f.check.id == check.id).collect();
        let held = same.iter().all(|f| f.held);
        if !held {
            violated.push(check.severity);
        }
        let (tone, word) = match (held, check.severity) {
            (true, _) => (Tone::Good, "ok"),
            (_, Severity::Error) => (Tone::Bad, check.severity.word()),
            (_, Severity::Warning) => (Tone::Warn, check.severity.word()),
            (_, Severity::Info) => (Tone::Faint, check.severity.word()),
        };
        page.tab(2);
        page.flow(tone, word, 2);
        page.tab(WORDS);
        page.flow(Tone::Strong, check.id, WORDS);
        page.end_line();
        page.tab(WORDS);
        page.flow(Tone::Plain, check.rule, WORDS);
        page.space();
        page.flow(Tone::Faint, &format!("({})", check.source), WORDS);
        page.end_line();
        for broken in same.iter().filter(|f| !f.held) {
            page.tab(WORDS);
            let address = broken.address.map_or_else(String::new, |a| format!(" {a}"));
            let whole = format!("{}{address} {}", broken.family, broken.url);
            page.flow(Tone::Plain, &whole, WORDS);
            if !broken.found.is_empty() {
                page.space();
                page.flow(Tone::Plain, &format!("— found {}", broken.found), WORDS);
            }
            page.end_line();
        }
    }
    counts(&mut page, &violated);
    page.finish()
}
