//! Answers about another object than the requested one.

use serde_json::Value;

use super::super::{Form, LookupResult, Part, line};
use super::{fixture, part, style, tell, told};

#[test]
fn a_registrar_about_another_domain_is_not_merged() {
    let (registry, registrar) = (
        fixture("domain-thin.json"),
        fixture("domain-registrar.json"),
    );
    let text = |other| {
        let told = LookupResult {
            registrar: Some(Part {
                other,
                ..part("rdap.registrar.example", &registrar)
            }),
            ..told("thin.example", &registry)
        };
        let line: Value = serde_json::from_slice(&line(&told)).unwrap();
        assert_eq!(line["registrar"]["other_object"].as_str(), other);
        tell(&told, &style(Form::Readable))
    };
    assert!(text(None).contains("Registrant"));
    let apart = text(Some("bücher.example"));
    assert!(
        apart.contains("The registrar's answer is about bücher.example, not thin.example")
            && !apart.contains("Registrant"),
        "{apart}"
    );
}
