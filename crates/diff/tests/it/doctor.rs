//! Two reports of `doctor`.

use roundtrip_diff::{BrokenLimit, Doctor, DoctorDiff, Limit, Report, Trend, read};
use serde_json::{Value, json};

fn check(id: &str, value: &str, status: &str) -> Value {
    json!({ "id": id, "area": "tls", "title": id, "value": value, "status": status, "meaning": "m", "change": null })
}

fn doctor(checks: &[Value]) -> Doctor {
    let document =
        json!({ "schema": "roundtrip/doctor/1", "root": null, "checks": checks, "summary": {} });
    match read(document.to_string().as_bytes(), None).unwrap() {
        Report::Doctor(doctor) => doctor,
        Report::Probe(_) => panic!("a report of probe"),
    }
}

#[test]
fn findings_are_held_against_those_of_their_kind() {
    let a = [
        check("openssl", "3.0", "good"),
        check("openssl", "1.0.2k", "problem"),
        check("fast-open", "0x3", "good"),
        check("queue", "4096", "good"),
        check("mtu", "1500", "unknown"),
    ];
    let b = [
        check("openssl", "3.5", "good"),
        check("openssl", "3.0", "good"),
        check("fast-open", "0x1", "notice"),
        check("queue", "8192", "good"),
        check("new", "1", "problem"),
    ];
    let diff = DoctorDiff::new(&doctor(&a), &doctor(&b));
    let turns: Vec<(Trend, &str)> = diff
        .changes
        .iter()
        .map(|change| (change.turn, change.check().unwrap().id.as_str()))
        .collect();
    assert_eq!(
        turns,
        [
            (Trend::Worse, "fast-open"),
            (Trend::Better, "openssl"),
            (Trend::Other, "queue"),
            (Trend::Other, "mtu"),
            (Trend::Other, "new"),
        ]
    );
    assert_eq!(diff.same, 1);
    assert_eq!(
        diff.answer,
        "B is worse in 1 finding: fast-open (0x3 → 0x1). B is better in 1 finding: openssl (1.0.2k → 3.5). \
         3 findings differ without being better or worse. 1 finding is the same."
    );
}

#[test]
fn the_same_is_the_same_in_any_order() {
    let checks = [
        check("a", "1", "good"),
        check("a", "2", "notice"),
        check("b", "1", "good"),
    ];
    let mut other = checks.clone();
    other.reverse();
    let diff = DoctorDiff::new(&doctor(&checks), &doctor(&other));
    assert!(diff.changes.is_empty() && diff.same == 3);
    assert!(diff.answer.starts_with("No difference"), "{}", diff.answer);
}

#[test]
fn limits_count_what_got_worse() {
    let diff = DoctorDiff::new(
        &doctor(&[check("a", "1", "good")]),
        &doctor(&[check("a", "2", "problem")]),
    );
    let limit = |text: &str| text.parse::<Limit>().unwrap().broken_by_doctor(&diff);
    assert_eq!(limit("worse > 0"), Ok(Some(BrokenLimit("1 worse".into()))));
    assert_eq!(limit("worse > 1"), Ok(None));
    assert!(limit("worse > 10%").is_err() && limit("client > 1").is_err());
}
