//! What violates the standards in an outcome's answers: as lines for people, as JSON for machines.

use roundtrip_rdap::check::{Delivery, Profile, Severity, Violation, check};
use roundtrip_rdap::client::{Outcome, Source};
use roundtrip_rdap::text::{self, Style};
use serde_json::{Value, json};

/// The violations in each answer, with the server that gave it.
pub(super) struct Findings(Vec<(String, Vec<Violation>)>);

impl Findings {
    pub(super) fn from_outcome(found: &Outcome) -> Self {
        let registrar = found.registrar.as_ref().and_then(|r| r.as_deref().ok());
        let findings = found.sources().filter_map(|source| {
            let is_registrar = registrar.is_some_and(|r| std::ptr::eq(r, source));
            let violations = violations(source, is_registrar)?;
            Some((source.target.redacted(), violations))
        });
        Self(findings.collect())
    }

    /// Whether a violation is of a requirement.
    pub(super) fn has_errors(&self) -> bool {
        let mut all = self.0.iter().flat_map(|(_, violations)| violations);
        all.any(|violation| violation.check.severity == Severity::Error)
    }

    pub(super) fn told(&self, style: &Style) -> String {
        let told = self.0.iter().map(|(url, violations)| {
            let url = roundtrip_report::clean(url);
            format!("\nChecked {url}\n{}", text::violations(violations, style))
        });
        told.collect()
    }

    pub(super) fn document(&self) -> Value {
        let answers = self.0.iter().map(|(url, violations)| {
            let list: Vec<Value> = violations.iter().map(Violation::json).collect();
            json!({"url": url, "violations": list})
        });
        answers.collect()
    }
}

/// The violations in an answer; `None` if there is no answer.
fn violations(source: &Source, is_registrar: bool) -> Option<Vec<Violation>> {
    let answer = source.answer.as_ref().ok()?;
    let header = |name: &str| std::str::from_utf8(source.header(name)?).ok();
    let delivery = Delivery {
        status: source.status,
        content_type: header("content-type"),
        allow_origin: header("access-control-allow-origin"),
        url: Some(source.target.url()),
    };
    let profiles: Vec<Profile> = Profile::claimed(answer, delivery.url)
        .into_iter()
        .map(|profile| match profile {
            Profile::GtldRegistry if is_registrar => Profile::GtldRegistrar,
            other => other,
        })
        .collect();
    Some(check(answer, &delivery, &profiles))
}
