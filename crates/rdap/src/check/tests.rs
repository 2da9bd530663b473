//! Every rule: a fixture that follows it, and the same fixture with one change that violates it.

mod asked;
mod broken;
mod encoding;
mod queried;
mod selves;
mod sound;
mod urls;

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use broken::{BROKEN, Change, cards, nro, profiles, redactions, searches};
use selves::add_self_links;
use sound::SOUND;

fn fixture(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let mut json = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    add_self_links(&mut json);
    json
}

fn answer(json: &Value) -> Answer {
    Answer::read(Bytes::from(json.to_string())).unwrap()
}

/// The fixtures with their delivery, and the profiles that they claim.
const BASES: [(&str, &str, u16, &[Profile]); 20] = [
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
        &[],
    ),
    (
        "gtld-registrar",
        "https://rdap.registrar.example/domain/xn--bcher-kva.example",
        200,
        &[Profile::GtldRegistrar],
    ),
    (
        "gtld-nameserver",
        "https://rdap.registry.example/nameserver/ns1.xn--bcher-kva.example",
        200,
        &[Profile::GtldRegistry],
    ),
    (
        "gtld-entity",
        "https://rdap.registry.example/entity/1",
        200,
        &[Profile::GtldRegistry],
    ),
    (
        "gtld-help",
        "https://rdap.registry.example/help",
        200,
        &[Profile::GtldRegistry],
    ),
    (
        "domain-variants",
        "https://example.net/domain/xn--fo-5ja.example",
        200,
        &[],
    ),
    ("ip-v4", "https://example.net/ip/192.0.2.1", 200, &[]),
    (
        "nro-ip",
        "https://rdap.rir.example/ip/192.0.2.1",
        200,
        &[Profile::Nro],
    ),
    (
        "nro-autnum",
        "https://rdap.rir.example/autnum/64496",
        200,
        &[Profile::Nro],
    ),
    (
        "nro-domain",
        "https://rdap.rir.example/domain/2.0.192.in-addr.arpa",
        200,
        &[Profile::Nro],
    ),
    (
        "nro-entity",
        "https://rdap.rir.example/entity/ORG-EX1",
        200,
        &[Profile::Nro],
    ),
    (
        "nro-error",
        "https://rdap.rir.example/ip/10.0.0.0",
        404,
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
        "https://example.com/rdap/domains?name=example*.example&count=true",
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

fn broken() -> impl Iterator<Item = &'static (&'static str, &'static str, Change)> {
    let own = BROKEN.iter().chain(redactions::BROKEN);
    let own = own.chain(cards::BROKEN).chain(searches::BROKEN);
    own.chain(profiles::BROKEN).chain(nro::BROKEN)
}

#[test]
fn every_rule_can_be_broken() {
    for &(id, base, change) in broken() {
        let found = found(base, &changed(base, change), |_, _| {});
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(
            found.iter().any(|v| v.check.id == id),
            "{id} in {base}: {told:#?}"
        );
        // One change can violate a few related rules, but not many.
        assert!(found.len() <= 4, "{id} in {base}: {told:#?}");
    }
}

#[test]
fn borderline_answers_violate_nothing() {
    for &(id, base, change) in SOUND {
        let found = found(base, &changed(base, change), |_, _| {});
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(
            !found.iter().any(|v| v.check.id == id),
            "{id} in {base}: {told:#?}"
        );
        assert!(table().iter().any(|c| c.id == id), "{id}");
    }
}

#[test]
fn delivery_can_violate_rules_too() {
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
    let url: Url = "https://example.net/domain/as64496.example"
        .parse()
        .unwrap();
    let answer = answer(&fixture("autnum.json"));
    let delivery = Delivery {
        url: Some(&url),
        ..Delivery::default()
    };
    let found = check(&answer, &delivery, &[]);
    assert_eq!(
        found.iter().map(|v| v.check.id).collect::<Vec<_>>(),
        ["class-asked"]
    );
}

#[test]
fn a_name_has_the_form_of_the_query() {
    let ids = |url: &str, base: &Value| -> Vec<&'static str> {
        let url: Url = url.parse().unwrap();
        let delivery = Delivery {
            url: Some(&url),
            ..Delivery::default()
        };
        let found = check(&answer(base), &delivery, &[Profile::GtldRegistry]);
        let ids = found.iter().map(|v| v.check.id);
        ids.filter(|id| id.starts_with("gtld-name")).collect()
    };
    let mut base = fixture("domain-registry.json");
    let unicode = "https://rdap.registry.example/domain/b%C3%BCcher.example";
    assert!(ids(unicode, &base).is_empty());
    base.as_object_mut().unwrap().remove("unicodeName");
    assert_eq!(ids(unicode, &base), ["gtld-name-form"]);
}

#[test]
fn profiles_compare_the_answer_with_the_query() {
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

/// Rules that are violated by the delivery, in the tests above and in `queried`.
const OF_DELIVERY: [&str; 16] = [
    "delivery-type-missing",
    "delivery-type",
    "delivery-cors",
    "delivery-status-positive",
    "delivery-status-negative",
    "delivery-status-code",
    "class-asked",
    "object-asked",
    "reverse-mapping",
    "sort-current",
    "gtld-cors",
    "gtld-https",
    "gtld-name",
    "gtld-notice-status-value",
    "gtld-notice-form-value",
    "gtld-notice-terms-value",
];

/// Rules that are violated by the bytes of an answer, in a test below and in `encoding`.
const OF_BYTES: [&str; 4] = [
    "member-repeated",
    "member-control",
    "member-surrogate",
    "member-utf8",
];

#[test]
fn the_table_is_complete() {
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
        let broken = broken().any(|(id, ..)| *id == check.id) || OF_DELIVERY.contains(&check.id);
        assert!(
            // `server::tests` violates those of servers.
            broken || check.scope == Scope::Server || OF_BYTES.contains(&check.id),
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
fn an_extension_may_be_named_with_its_version() {
    let ids = |named: &str, member: &str| -> Vec<&'static str> {
        let mut json = fixture("autnum.json");
        json["rdapConformance"] = serde_json::json!(["rdap_level_0", named]);
        json[member] = serde_json::json!({});
        let found = check(&answer(&json), &Delivery::default(), &[]);
        let ids = found.iter().map(|v| v.check.id);
        ids.filter(|id| *id == "conformance-unclaimed").collect()
    };
    assert!(ids("fred_version_0", "fred_nsset").is_empty() && ids("fred", "fred_nsset").is_empty());
    assert_eq!(ids("frederic", "fred_nsset").len(), 1);
    assert_eq!(ids("paging_level_0", "paging_metadata").len(), 1);
}

#[test]
fn a_repeated_member_is_found() {
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
fn a_repeated_member_is_found_at_any_depth() {
    let json = Bytes::from_static(
        br#"{"rdapConformance": ["rdap_level_0", "x"], "x_a": [{"b": {"c": 1, "c": 2}}]}"#,
    );
    let found = check(&Answer::read(json).unwrap(), &Delivery::default(), &[]);
    let repeated = found.iter().filter(|v| v.check.id == "member-repeated");
    assert_eq!(
        repeated.map(|v| &*v.pointer).collect::<Vec<_>>(),
        ["/x_a/0/b"]
    );
}

#[test]
fn a_violation_is_reported_once() {
    let json = serde_json::json!({
        "rdapConformance": ["rdap_level_0"], "objectClassName": "domain",
        "ldhName": "a.example", "lang": 7,
    });
    let found = check(&answer(&json), &Delivery::default(), &[]);
    let of_type = found.iter().filter(|v| v.check.id == "member-type");
    assert_eq!(of_type.count(), 1, "{found:?}");
}

#[test]
fn profiles_are_recognised_by_their_claims() {
    let claimed = |name: &str| Profile::claimed(&answer(&fixture(name)), None);
    assert_eq!(claimed("domain-registry.json"), [Profile::GtldRegistry]);
    assert_eq!(claimed("ip-v4.json"), [Profile::Nro]);
    assert_eq!(claimed("autnum.json"), []);
}

#[test]
fn a_hostile_answer_is_reported_safely() {
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
            // The pointer leads to a value, or its parent does. A lone object in place of a list
            // counts as the list's first item.
            let parent = violation.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
            let parent = parent.strip_suffix("/0").unwrap_or(parent);
            prop_assert!(answer.at(&violation.pointer).or(answer.at(parent)).is_some(), "{violation}");
        }
    }
}
