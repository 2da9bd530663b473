//! Every rule: a fixture that follows it, and the same fixture with one change that violates it.

mod broken;

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use broken::{BROKEN, Change, profiles};

fn fixture(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn answer(json: &Value) -> Answer {
    Answer::read(Bytes::from(json.to_string())).unwrap()
}

/// The fixtures, how each was delivered, and the profiles it claims.
const BASES: [(&str, &str, u16, &[Profile]); 11] = [
    (
        "domain-registry",
        "https://rdap.registry.example/domain/xn--bcher-kva.example",
        200,
        &[Profile::GtldRegistry],
    ),
    (
        "domain-registrar",
        "https://rdap.registrar.example/domain/xn--bcher-kva.example",
        200,
        &[Profile::GtldRegistrar],
    ),
    (
        "domain-variants",
        "https://example.net/domain/xn--fo-5ja.example",
        200,
        &[],
    ),
    (
        "ip-v4",
        "https://example.net/ip/192.0.2.1",
        200,
        &[Profile::Nro],
    ),
    ("ip-v6", "https://example.net/ip/2001:db8::1", 200, &[]),
    ("autnum", "https://example.net/autnum/64496", 200, &[]),
    (
        "nameserver",
        "https://example.net/nameserver/ns1.xn--fo-5ja.example",
        200,
        &[],
    ),
    ("entity", "https://example.com/entity/XXXX", 200, &[]),
    ("help", "https://example.net/help", 200, &[]),
    (
        "search",
        "https://example.com/rdap/domains?name=example*.example",
        200,
        &[],
    ),
    (
        "error-404",
        "https://rdap.registry.example/domain/unregistered.example",
        404,
        &[],
    ),
];

fn found(
    base: &str,
    json: &Value,
    change: impl Fn(&mut Delivery<'_>, &mut Vec<Profile>),
) -> Vec<Violation> {
    let (_, url, status, profiles) = BASES.into_iter().find(|(name, ..)| *name == base).unwrap();
    let url: Url = url.parse().unwrap();
    let mut delivery = Delivery {
        status,
        content_type: Some("application/rdap+json; charset=utf-8"),
        allow_origin: Some("*"),
        url: Some(&url),
    };
    let mut profiles = profiles.to_vec();
    change(&mut delivery, &mut profiles);
    check(&answer(json), &delivery, &profiles)
}

#[test]
fn conforming_answers_violate_nothing() {
    for (base, ..) in BASES {
        let found = found(base, &fixture(&format!("{base}.json")), |_, _| {});
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(told.is_empty(), "{base}: {told:#?}");
    }
}

fn changed(base: &str, (pointer, value): Change) -> Value {
    let mut json = fixture(&format!("{base}.json"));
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let value: Option<Value> =
        value.map(|v| serde_json::from_str(v).unwrap_or_else(|e| panic!("{v}: {e}")));
    match (
        json.pointer_mut(parent)
            .unwrap_or_else(|| panic!("{pointer}")),
        value,
    ) {
        (Value::Object(members), Some(value)) => drop(members.insert(last.to_owned(), value)),
        (Value::Object(members), None) => {
            drop(members.remove(last).unwrap_or_else(|| panic!("{pointer}")));
        }
        (Value::Array(items), Some(value)) if last == "+" => items.push(value),
        (Value::Array(items), Some(value)) => items[last.parse::<usize>().unwrap()] = value,
        (Value::Array(items), None) => drop(items.remove(last.parse().unwrap())),
        (other, _) => panic!("{pointer}: {other}"),
    }
    json
}

#[test]
fn every_rule_can_be_broken() {
    for &(id, base, change) in BROKEN.iter().chain(profiles::BROKEN) {
        let found = found(base, &changed(base, change), |_, _| {});
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(
            found.iter().any(|v| v.check.id == id),
            "{id} in {base}: {told:#?}"
        );
        // One change may violate a few related rules, but not many.
        assert!(found.len() <= 4, "{id} in {base}: {told:#?}");
    }
}

#[test]
fn delivery_can_be_wrong_too() {
    let ids =
        |base: &str, change: &dyn Fn(&mut Delivery<'_>, &mut Vec<Profile>)| -> Vec<&'static str> {
            let found = found(base, &fixture(&format!("{base}.json")), change);
            found.iter().map(|v| v.check.id).collect()
        };
    assert_eq!(
        ids("help", &|d, _| d.content_type = None),
        ["delivery-type-missing"]
    );
    assert_eq!(
        ids("help", &|d, _| d.content_type = Some("application/json")),
        ["delivery-type"]
    );
    assert_eq!(
        ids("help", &|d, _| d.allow_origin = None),
        ["delivery-cors"]
    );
    assert_eq!(
        ids("autnum", &|d, _| d.status = 404),
        ["delivery-status-positive"]
    );
    assert_eq!(
        ids("error-404", &|d, _| d.status = 200),
        ["delivery-status-negative"]
    );
    assert_eq!(
        ids("error-404", &|d, _| d.status = 400),
        ["delivery-status-code"]
    );
    assert_eq!(
        ids("domain-registry", &|d, _| d.allow_origin =
            Some("https://example")),
        ["gtld-cors"]
    );
    assert_eq!(
        ids("autnum", &|_, p| p.push(Profile::Nro)),
        ["nro-conformance", "nro-asn-model"]
    );
}

#[test]
fn profiles_hold_the_answer_against_what_was_asked() {
    let clear: Url = "http://rdap.registry.example/domain/xn--bcher-kva.example"
        .parse()
        .unwrap();
    let other: Url = "https://rdap.registry.example/domain/other.example"
        .parse()
        .unwrap();
    let at = |url: &Url| -> Vec<&'static str> {
        let base = fixture("domain-registry.json");
        let delivery = Delivery {
            url: Some(url),
            ..Delivery::default()
        };
        check(&answer(&base), &delivery, &[Profile::GtldRegistry])
            .iter()
            .map(|v| v.check.id)
            .collect()
    };
    assert!(at(&clear).contains(&"gtld-https"));
    for id in [
        "gtld-name",
        "gtld-notice-status-value",
        "gtld-notice-form-value",
        "gtld-notice-terms-value",
    ] {
        assert!(at(&other).contains(&id), "{id}");
    }
}

/// Rules that the two tests above violate by the delivery.
const OF_DELIVERY: [&str; 13] = [
    "delivery-type-missing",
    "delivery-type",
    "delivery-cors",
    "delivery-status-positive",
    "delivery-status-negative",
    "delivery-status-code",
    "gtld-cors",
    "gtld-https",
    "gtld-name",
    "gtld-notice-status-value",
    "gtld-notice-form-value",
    "gtld-notice-terms-value",
    "nro-asn-model",
];

#[test]
fn the_table_is_whole() {
    let table = table();
    for (i, check) in table.iter().enumerate() {
        assert!(
            !table[..i].iter().any(|c| c.id == check.id),
            "{} twice",
            check.id
        );
        assert!(
            check
                .id
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
            "{}",
            check.id
        );
        let broken = BROKEN
            .iter()
            .chain(profiles::BROKEN)
            .any(|(id, ..)| *id == check.id)
            || OF_DELIVERY.contains(&check.id);
        assert!(
            broken || check.id == "member-repeated",
            "no test breaks {}",
            check.id
        );
    }
    insta::assert_snapshot!(
        "table",
        table
            .iter()
            .map(|c| format!(
                "{}: {} ({}; {})\n",
                c.id,
                c.rule,
                c.severity.word(),
                c.source
            ))
            .collect::<String>()
    );
}

#[test]
fn a_repeated_member_is_seen() {
    let json = Bytes::from_static(br#"{"rdapConformance": ["rdap_level_0"], "notices": [{"description": ["x"], "description": ["y"]}]}"#);
    let found = check(&Answer::read(json).unwrap(), &Delivery::default(), &[]);
    assert_eq!(
        found.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "warning: member-repeated at /notices/0: the names in an object differ; found description (RFC 8259, section 4)"
        ]
    );
}

#[test]
fn profiles_are_known_by_what_they_claim() {
    let claimed = |name: &str| Profile::claimed(&answer(&fixture(name)));
    assert_eq!(claimed("domain-registry.json"), [Profile::GtldRegistry]);
    assert_eq!(claimed("ip-v4.json"), [Profile::Nro]);
    assert_eq!(claimed("autnum.json"), []);
}

#[test]
fn a_hostile_answer_is_told_safely() {
    let found = found("help", &fixture("hostile.json"), |_, p| {
        p.extend([Profile::GtldRegistrar, Profile::Nro]);
    });
    assert!(found.len() > 30, "{found:#?}");
    for violation in &found {
        assert!(
            !violation.to_string().contains(char::is_control),
            "{violation}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn anything_can_be_checked(json in crate::answer::tests::hostile()) {
        let answer = Answer::read(Bytes::from(json)).unwrap();
        let url = "https://a.example/domain/b.example".parse().unwrap();
        let delivery = Delivery { status: 200, url: Some(&url), ..Delivery::default() };
        let profiles = [Profile::GtldRegistry, Profile::GtldRegistrar, Profile::Nro];
        for violation in check(&answer, &delivery, &profiles) {
            prop_assert!(!violation.to_string().contains(char::is_control));
            // The pointer leads to a value, or its parent does.
            let parent = violation.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
            prop_assert!(answer.at(&violation.pointer).or(answer.at(parent)).is_some(), "{violation}");
        }
    }
}
