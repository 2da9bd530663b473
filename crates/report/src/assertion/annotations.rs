//! Workflow commands of GitHub Actions: `::error` for what is broken, `::warning` for findings.
//! They quote text from servers, which must not end the command or begin another one.

use roundtrip_model::{Exchange, Finding};

use super::Assertion;
use crate::numbers::ms;
use crate::terminal::clean_lines;

/// The largest number of warnings: GitHub shows no more than ten of a kind for each step.
const MAX_WARNINGS: usize = 10;

/// A line for each assertion that does not hold, then one for each cause that was found.
pub fn commands(assertions: &[Assertion], exchanges: &[Exchange]) -> String {
    let broken = assertions.iter().filter_map(|assertion| {
        let why = assertion.broken.as_deref()?;
        let message = format!("{}: {why}", assertion.url);
        Some(command("error", &assertion.name, &message))
    });
    let warnings = found(exchanges).into_iter().map(|(url, finding)| {
        let cost = ms(finding.ms);
        let Finding { evidence, .. } = finding;
        let message = format!("{url}: {cost} ms: {evidence}\n{}", finding.advice());
        command("warning", finding.id, &message)
    });
    broken.chain(warnings).collect()
}

/// The causes that were found: each once for each URL, the most costly first.
fn found(exchanges: &[Exchange]) -> Vec<(&str, &Finding)> {
    let mut found: Vec<(&str, &Finding)> = exchanges
        .iter()
        .flat_map(|e| e.findings.iter().map(|finding| (e.url.as_str(), finding)))
        .collect();
    found.sort_by(|(_, a), (_, b)| b.ms.total_cmp(&a.ms));
    let mut seen = Vec::new();
    found.retain(|(url, finding)| {
        let name = (*url, finding.id);
        let is_new = !seen.contains(&name);
        seen.push(name);
        is_new
    });
    found.truncate(MAX_WARNINGS);
    found
}

fn command(kind: &str, title: &str, message: &str) -> String {
    let title = escaped(title).replace(':', "%3A").replace(',', "%2C");
    format!(
        "::{kind} title=roundtrip%3A {title}::{}\n",
        escaped(message)
    )
}

/// Escapes line breaks, which the runner restores, and other characters that would act on a
/// terminal.
fn escaped(text: &str) -> String {
    let text = clean_lines(text);
    text.replace('%', "%25").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_limits_are_errors_and_findings_are_warnings() {
        let finding = |id, ms| Finding {
            id,
            ms,
            round_trips: 1,
            evidence: "seen, 100 %".into(),
            remedy: "mend it".into(),
            settings: Vec::new(),
        };
        let exchange = Exchange {
            url: "https://shop.example/".into(),
            findings: vec![finding("late-answer", 3.0), finding("hello-retry", 50.0)],
            ..Exchange::default()
        };
        let assertions = [
            Assertion::new("https://shop.example/", "answers", &[]),
            Assertion::new("https://shop.example/", "round_trips > 3", &["4".into()]),
        ];
        insta::assert_snapshot!(commands(&assertions, &[exchange.clone(), exchange]), @"
        ::error title=roundtrip%3A round_trips > 3::https://shop.example/: 4
        ::warning title=roundtrip%3A hello-retry::https://shop.example/: 50.0 ms: seen, 100 %25%0Amend it
        ::warning title=roundtrip%3A late-answer::https://shop.example/: 3.00 ms: seen, 100 %25%0Amend it
        ");
    }

    #[test]
    fn quoted_text_cannot_begin_a_command_of_its_own() {
        let hostile = "x\r\n::stop-commands::y\n::set-env name=A::b".to_owned();
        let assertion = Assertion::new("http://h/", "a:b,c\n::error::", &[hostile]);
        let text = commands(&[assertion], &[]);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.starts_with("::error title=roundtrip%3A a%3Ab%2Cc%0A%3A%3Aerror%3A%3A::http"));
    }
}
