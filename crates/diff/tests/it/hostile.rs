//! Files may come from anybody: one that is not a report is refused in one line that says where.

use proptest::prelude::*;
use roundtrip_diff::{MAX_REPORT, ProbeDiff, ReadError, Report, read};
use serde_json::{Value, json};

use crate::samples::{document, new_image, probe};

fn refusal(bytes: &[u8]) -> String {
    let error = read(bytes, None).unwrap_err().to_string();
    assert!(
        !error.contains('\n') && error.chars().count() < 300,
        "{error}"
    );
    error
}

#[test]
fn wrong_types_are_told_with_their_key() {
    for (pointer, value, told) in [
        (
            "/total_ms",
            json!("fast"),
            "results[0].total_ms: a number was expected, a string was found",
        ),
        (
            "/total_ms",
            json!(null),
            "results[0].total_ms: a number was expected, nothing was found",
        ),
        (
            "/total_ms",
            json!(-1),
            "results[0].total_ms: -1e0 is out of range",
        ),
        (
            "/phases",
            json!(7),
            "results[0].phases: a list was expected, a number was found",
        ),
        (
            "/phases/1/name",
            json!([]),
            "results[0].phases[1].name: a string was expected, a list was found",
        ),
        (
            "/phases/0/waited_for",
            json!(true),
            "results[0].phases[0].waited_for: an object was expected",
        ),
        (
            "/phases/0/waited_for/loss_ms",
            json!(1e300),
            "results[0].phases[0].waited_for.loss_ms: 1e300 is",
        ),
        (
            "/tls/version",
            json!({}),
            "results[0].tls.version: a string, a number or a boolean was expected",
        ),
        (
            "/findings",
            json!([{}]),
            "results[0].findings[0].id: a string was expected",
        ),
        (
            "/client_work",
            json!([]),
            "results[0].client_work: an object was expected, a list was found",
        ),
        (
            "/ok",
            json!("yes"),
            "results[0].ok: a boolean was expected, a string was found",
        ),
    ] {
        let mut result = new_image(0.0);
        *result.pointer_mut(pointer).unwrap() = value;
        let error = refusal(&document([result]));
        assert!(error.starts_with(told), "{error}");
    }
}

#[test]
fn a_document_that_is_not_a_report_is_refused() {
    for (text, told) in [
        ("", "holds no results"),
        ("{", "no JSON: EOF"),
        ("hello", "no JSON: expected value"),
        ("[]", "not a report of roundtrip"),
        ("{}", "not a report of roundtrip"),
        ("1 2 3", "not a report of roundtrip"),
        (
            r#"{"schema":"roundtrip/probe/2"}"#,
            "holds 'roundtrip/probe/2', which this version",
        ),
        (
            r#"{"schema":"roundtrip/lab/1"}"#,
            "holds 'roundtrip/lab/1', which this version",
        ),
        (r#"{"schema":7}"#, "schema: a string was expected"),
        (r#"{"schema":"roundtrip/probe/1"}"#, "holds no results"),
        (
            r#"{"schema":"roundtrip/probe/1","results":[1]}"#,
            "results[0]: an object was expected",
        ),
        (r#"{"schema":"a"}{"schema":"b"}"#, "holds several documents"),
    ] {
        let error = refusal(text.as_bytes());
        assert!(error.starts_with(told), "{text}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert!(refusal(deep.as_bytes()).contains("recursion limit"));
    assert!(matches!(
        read(&vec![b' '; MAX_REPORT + 1], None),
        Err(ReadError::TooLarge)
    ));
    let many = "1 ".repeat(30_000);
    assert!(refusal(many.as_bytes()).contains("more than 10000 results"));
    let phases = vec![json!({}); 300];
    let mut result = new_image(0.0);
    result["phases"] = json!(phases);
    assert_eq!(
        refusal(&document([result])),
        "results[0].phases: more than 256 entries"
    );
}

#[test]
fn failed_runs_are_counted_and_not_compared() {
    let failed = || {
        let mut result = new_image(9000.0);
        result["ok"] = json!(false);
        result["error"] = json!("the connection was refused");
        result
    };
    let probe = probe(&document([failed(), new_image(0.0), failed()]));
    assert_eq!((probe.runs.len(), probe.failed), (1, 2));
    assert!(refusal(&document([failed()])).contains("(the connection was refused)"));
}

#[test]
fn one_of_several_urls_is_chosen() {
    let mut other = new_image(0.0);
    other["url"] = json!("https://other.example/");
    let both = document([new_image(0.0), other]);
    assert!(refusal(&both).contains("https://shop.example/, https://other.example/"));
    let chosen = read(&both, Some("https://other.example/")).unwrap();
    assert!(
        matches!(chosen, Report::Probe(p) if p.url == "https://other.example/" && p.runs.len() == 1)
    );
    let absent = read(&both, Some("https://none.example/")).unwrap_err();
    assert!(
        absent
            .to_string()
            .contains("no result of https://none.example/"),
        "{absent}"
    );
}

#[test]
fn lines_are_results() {
    let line = |run: u32| {
        let mut result = new_image(0.0);
        result["run"] = json!(run);
        result.to_string()
    };
    let lines = [line(0), line(1), line(2)].join("\n");
    assert_eq!(probe(lines.as_bytes()).runs.len(), 3);
    let broken = lines.replace("\"ok\":true", "\"ok\":1");
    assert!(refusal(broken.as_bytes()).starts_with("result 1.ok: a boolean"));
}

/// A value of any shape, some of whose keys mean something.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z\\PC]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        let key = prop_oneof![
            Just("name".to_owned()),
            Just("ms".to_owned()),
            Just("key".to_owned()),
            "[a-z]{1,4}"
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|e| Value::Object(e.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes, None);
    }

    #[test]
    fn any_value_in_a_report_is_taken_or_refused(
        key in prop::sample::select(vec![
            "total_ms", "phases", "findings", "tls", "tcp", "http", "name", "client_work", "rtt_ms", "run", "hop", "url",
        ]),
        value in any_value(),
    ) {
        let mut result = new_image(0.0);
        result[key] = value;
        if let Ok(Report::Probe(a)) = read(&document([result]), None) {
            let b = probe(&document([new_image(0.0)]));
            let diff = ProbeDiff::new(&a, &b).unwrap();
            let sum: f64 = diff.parts.iter().map(|part| part.ms).sum();
            prop_assert!((sum - diff.difference.ms).abs() < 1e-6);
            prop_assert!(!diff.answer.is_empty());
        }
    }
}
