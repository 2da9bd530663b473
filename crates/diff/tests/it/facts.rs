//! Facts and findings that differ.

use roundtrip_diff::{ProbeDiff, Weight};
use serde_json::json;

use crate::samples::{diff, new_image, old_image};

fn fact(diff: &ProbeDiff, label: &str) -> Option<(Option<String>, Option<String>, Weight)> {
    let found = diff.facts.iter().find(|fact| fact.label == label)?;
    Some((found.a.clone(), found.b.clone(), found.weight))
}

#[test]
fn only_facts_that_differ_are_listed() {
    let with = |mut result: serde_json::Value, size: u32| {
        result["http"] = json!({ "status": 200, "header_bytes": size });
        result["tls"]["chain"] =
            json!({ "certificates": [{ "subject": "CN=shop", "key": format!("RSA {size}") }] });
        result
    };
    let diff = diff([with(old_image(0.0), 1)], [with(new_image(0.0), 2)]);
    let some = |text: &str| Some(text.to_owned());
    let version = (some("TLSv1.2"), some("TLSv1.3"), Weight::Telling);
    assert_eq!(fact(&diff, "TLS version"), Some(version));
    let keys = (some("RSA 1"), some("RSA 2"), Weight::Telling);
    assert_eq!(fact(&diff, "certificate keys"), Some(keys));
    let header = (some("1"), some("2"), Weight::Fine);
    assert_eq!(fact(&diff, "header bytes"), Some(header));
    for equal in ["status", "certificate", "resumed", "cipher"] {
        assert_eq!(fact(&diff, equal), None, "{equal}");
    }
    let weights: Vec<Weight> = diff.facts.iter().map(|fact| fact.weight).collect();
    assert!(weights.is_sorted(), "{weights:?}");
}

#[test]
fn all_values_that_runs_had_are_listed() {
    let peer = |n: u32| {
        let mut result = new_image(0.0);
        result["tcp"] = json!({ "peer": format!("192.0.2.{n}:443") });
        result
    };
    let diff = diff((1..=2).map(peer), (1..=9).map(peer));
    let (a, b, _) = fact(&diff, "peer").unwrap();
    assert_eq!(a.unwrap(), "192.0.2.1:443 or 192.0.2.2:443");
    assert!(b.unwrap().ends_with("192.0.2.4:443 or more"));
}

#[test]
fn a_finding_in_few_runs_explains_no_difference() {
    let seldom = (0..5).map(|n| {
        let mut result = new_image(0.0);
        if n == 0 {
            result["findings"] = json!([{ "id": "rare", "ms": 70.0 }]);
        }
        result
    });
    let diff = diff((0..5).map(|_| old_image(0.0)), seldom);
    let rare = diff.findings.iter().find(|f| f.id == "rare").unwrap();
    let priced = rare.b.as_ref().unwrap();
    assert_eq!((rare.ms(), priced.ms, priced.runs), (0.0, 70.0, (1, 5)));
    assert!(!diff.answer.contains("rare"), "{}", diff.answer);
}
