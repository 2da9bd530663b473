//! Answers whose bytes JSON does not allow.

use super::*;

#[test]
fn a_byte_that_is_not_utf8_is_found() {
    let json = b"{\"rdapConformance\": [\"rdap_level_0\"], \"notices\": [{\"description\": [\"M\xfcnchen\"]}]}";
    let found = check(
        &Answer::read(Bytes::from_static(json)).unwrap(),
        &Delivery::default(),
        &[],
    );
    let ids: Vec<&str> = found.iter().map(|v| v.check.id).collect();
    assert_eq!(ids, ["member-utf8"]);
}

#[test]
fn strings_that_json_does_not_allow_are_found() {
    for (text, id) in [(r"\ud83d", "member-surrogate"), ("a\tb", "member-control")] {
        let json = format!(
            r#"{{"rdapConformance": ["rdap_level_0"], "notices": [{{"description": ["{text}"]}}]}}"#
        );
        let answer = Answer::read(Bytes::from(json)).unwrap();
        let found = check(&answer, &Delivery::default(), &[]);
        let ids: Vec<&str> = found.iter().map(|v| v.check.id).collect();
        assert_eq!(ids, [id]);
    }
}
