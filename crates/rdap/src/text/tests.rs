//! Every style with every fixture: `tests/data` contains the answers, the snapshots the output.

mod octets;
mod others;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use proptest::prelude::*;
use roundtrip_report::terminal;
use serde_json::{Value, json};

use super::*;
use crate::answer::Object;

fn fixture(name: &str) -> Answer {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    Answer::read(Bytes::from(fs::read(path).unwrap())).unwrap()
}

/// 2026-11-21 10:00 UTC.
const SECONDS: u64 = 1_795_255_200;

fn style(form: Form) -> Style {
    Style {
        form,
        terminal: terminal::Style {
            width: 100,
            colour: false,
            unicode: true,
        },
        verbose: false,
        now: UNIX_EPOCH + Duration::from_secs(SECONDS),
        shown: false,
    }
}

/// The text of one outcome.
fn tell(told: &LookupResult<'_>, style: &Style) -> String {
    String::from_utf8(super::tell(told, style)).unwrap()
}

fn part<'a>(server: &'a str, answer: &'a Answer) -> Part<'a> {
    let state = match answer.object() {
        Object::Problem(problem) if problem.code() == Some(404) => State::NotRegistered,
        Object::Problem(_) => State::Refused,
        _ => State::Found,
    };
    Part {
        server: Some(server),
        state,
        answer: Some(answer),
        why: None,
        clear: false,
        other: None,
    }
}

fn told<'a>(query: &'a str, answer: &'a Answer) -> LookupResult<'a> {
    LookupResult {
        note: None,
        query,
        kind: answer.object().kind(),
        first: part("https://rdap.registry.example/", answer),
        registrar: None,
        beside: &[],
    }
}

const FIXTURES: [(&str, &str); 14] = [
    ("domain-registry", "bücher.example"),
    ("domain-registrar", "bücher.example"),
    ("domain-thin", "thin.example"),
    ("domain-variants", "fóo.example"),
    ("ip-v4", "192.0.2.1"),
    ("ip-v6", "2001:db8::1"),
    ("autnum", "AS64496"),
    ("nameserver", "ns1.fóo.example"),
    ("entity", "XXXX"),
    ("help", "help"),
    ("search", "example*.example"),
    ("error-404", "unregistered.example"),
    ("error-429", "busy.example"),
    ("hostile", "evil.example"),
];

#[test]
fn readable() {
    for (name, query) in FIXTURES {
        let answer = fixture(&format!("{name}.json"));
        insta::assert_snapshot!(
            format!("readable-{name}"),
            tell(&told(query, &answer), &style(Form::Readable))
        );
    }
}

/// All texts and numbers in an answer, with the names of members that have no heading.
fn leaves(node: &Value, found: &mut Vec<String>) {
    match node {
        Value::Object(members) => {
            for (name, value) in members {
                if name.contains('_') && name != "cidr0_cidrs" && !name.ends_with("_metadata") {
                    found.push(name.clone());
                }
                leaves(value, found);
            }
        }
        // The types in a card determine how values are encoded.
        Value::Array(items) if items.len() > 3 && items[1].is_object() && items[0].is_string() => {
            leaves(&items[1], found);
            items[3..].iter().for_each(|item| leaves(item, found));
        }
        Value::Array(items) => items
            .iter()
            .filter(|item| *item != "vcard")
            .for_each(|item| leaves(item, found)),
        Value::Null => {}
        Value::String(text) => found.extend(text.lines().map(str::to_owned)),
        other => found.push(other.to_string()),
    }
}

fn assert_whole(name: &str, answer: &Answer) {
    let mut style = style(Form::Readable);
    style.verbose = true;
    style.terminal.width = 1_000_000;
    let text = tell(&told("x.example", answer), &style);
    let json: Value = serde_json::from_slice(answer.raw()).unwrap();
    let mut all = Vec::new();
    leaves(&json, &mut all);
    for leaf in all {
        let words: Vec<String> = leaf.split_whitespace().map(terminal::clean).collect();
        assert!(
            text.contains(&words.join(" ")),
            "{name}: {leaf:?} is missing in\n{text}"
        );
    }
}

#[test]
fn verbose_has_every_member() {
    for (name, _) in FIXTURES {
        assert_whole(name, &fixture(&format!("{name}.json")));
    }
    let lines: Vec<String> = (0..300).map(|n| format!("remark line {n}")).collect();
    let phones = (0..5)
        .map(|n| json!(["tel", {"type": ["voice", "work"]}, "uri", format!("tel:+1.555{n}")]));
    let malformed = json!(["note", "in place of parameters", "text", "x"]);
    let phones: Vec<Value> = phones.chain([malformed]).collect();
    let contact = json!({
        "objectClassName": "entity", "roles": ["reseller"], "handle": "R-9",
        "vcardArray": ["vcard", phones],
        "status": ["validated"],
        "remarks": [{"title": "Unvalidated POC", "description": ["ARIN has attempted"]}],
        "events": [{"eventAction": "last changed", "eventDate": "2020-01-01T00:00:00Z"}],
        "links": [{"rel": "up", "href": "https://rdap.example/up", "hreflang": ["en", "de"]}],
        "port43": "whois.contact.example",
    });
    let answer = json!({
        "objectClassName": "autnum", "handle": "AS8", "startAutnum": 8, "endAutnum": 8,
        "port43": "whois.example",
        "remarks": [{"description": lines}],
        "entities": [contact],
        "links": [{"rel": "geofeed", "href": "https://geo.example/feed.csv", "value": "https://rdap.example/autnum/8"}],
        "acme_new_extension": {"deep": [{"acme_deeper": [1, 2, {"acme_deepest": "found"}]}], "acme_flag": true},
        "acme_text": "kept",
    });
    let answer = Answer::read(Bytes::from(answer.to_string())).unwrap();
    assert_whole("made here", &answer);
    let short = tell(&told("AS8", &answer), &style(Form::Readable));
    assert!(
        short.contains("100 more, in full with --verbose")
            || short.contains("101 more, in full with --verbose"),
        "{short}"
    );
}

#[test]
fn whois_lines() {
    for (name, query) in FIXTURES {
        let answer = fixture(&format!("{name}.json"));
        insta::assert_snapshot!(
            format!("whois-{name}"),
            tell(&told(query, &answer), &style(Form::Whois))
        );
    }
}

#[test]
fn registry_and_registrar_are_merged() {
    let (registry, registrar) = (
        fixture("domain-registry.json"),
        fixture("domain-registrar.json"),
    );
    let both = LookupResult {
        note: None,
        registrar: Some(part("https://rdap.registrar.example/rdap/", &registrar)),
        ..told("bücher.example", &registry)
    };
    insta::assert_snapshot!("readable-both", tell(&both, &style(Form::Readable)));
    insta::assert_snapshot!("whois-both", tell(&both, &style(Form::Whois)));
    let verbose = Style {
        verbose: true,
        ..style(Form::Readable)
    };
    insta::assert_snapshot!("readable-verbose", tell(&both, &verbose));
    let narrow = terminal::Style {
        width: 44,
        colour: true,
        unicode: false,
    };
    insta::assert_snapshot!(
        "readable-narrow",
        tell(
            &both,
            &Style {
                terminal: narrow,
                ..style(Form::Readable)
            }
        )
    );
}

#[test]
fn a_failing_registrar_is_reported_beside_the_registry() {
    let registry = fixture("domain-thin.json");
    let failed = Part {
        server: Some("https://rdap.registrar.example/"),
        state: State::Failed,
        answer: None,
        why: Some("the answer is a web page ('Welcome'), not RDAP"),
        clear: false,
        other: None,
    };
    let told = LookupResult {
        note: None,
        registrar: Some(failed),
        ..told("thin.example", &registry)
    };
    insta::assert_snapshot!(
        "readable-registrar-failed",
        tell(&told, &style(Form::Readable))
    );
    let line: Value = serde_json::from_slice(&line(&told)).unwrap();
    assert_eq!(line["status"], "found");
    assert_eq!(line["registrar"]["status"], "failed");
    assert_eq!(
        line["registrar"]["error"],
        "the answer is a web page ('Welcome'), not RDAP"
    );
    assert_eq!(line["registrar"].get("answer"), None);
}

#[test]
fn violations_are_shown_with_their_places() {
    use crate::check::{Delivery, Profile, check};
    let answer = fixture("hostile.json");
    let found = check(&answer, &Delivery::default(), &[]);
    insta::assert_snapshot!("violations", violations(&found, &style(Form::Readable)));
    assert_eq!(
        violations(&[], &style(Form::Readable)),
        "0 errors, 0 warnings, 0 notes\n"
    );
    let json = check(
        &fixture("domain-thin.json"),
        &Delivery::default(),
        &[Profile::GtldRegistrar],
    );
    assert_eq!(json[0].json()["severity"], "error");
}

#[test]
fn an_http_status_determines_the_state() {
    let words =
        [200, 404, 400, 403, 429, 501, 503, 500, 502, 0].map(|s| State::from_status(s).word());
    let expected = [
        "found",
        "not-registered",
        "refused",
        "refused",
        "refused",
        "refused",
        "refused",
        "failed",
        "failed",
        "failed",
    ];
    assert_eq!(words, expected);
}

#[test]
fn failures_are_explained() {
    let nobody = Part {
        server: None,
        state: State::Failed,
        answer: None,
        why: Some("no RDAP server is known for .invalid"),
        clear: false,
        other: None,
    };
    let told = LookupResult {
        note: None,
        query: "x.invalid",
        kind: "domain",
        first: nobody,
        registrar: None,
        beside: &[],
    };
    let expected = "x.invalid could not be looked up\n  no RDAP server is known for .invalid\n";
    assert_eq!(tell(&told, &style(Form::Readable)), expected);
    let expected = "# x.invalid: failed: no RDAP server is known for .invalid\n";
    assert_eq!(tell(&told, &style(Form::Whois)), expected);
    let columns = Column::parse_list("query,status,name,error").unwrap();
    let expected = "x.invalid,failed,,no RDAP server is known for .invalid\r\n";
    assert_eq!(tell(&told, &style(Form::Csv(columns))), expected);
}

#[test]
fn every_column_of_every_fixture() {
    let columns: Vec<Column> = COLUMNS
        .iter()
        .map(|c| Column::parse(c.name).unwrap())
        .collect();
    let mut table = String::new();
    for (name, query) in FIXTURES {
        let answer = fixture(&format!("{name}.json"));
        let registrar = fixture("domain-registrar.json");
        let mut told = told(query, &answer);
        if name == "domain-registry" {
            told.registrar = Some(part("rdap.registrar.example", &registrar));
        }
        let _ = writeln!(table, "{name}");
        let lines = tell(&told, &style(Form::Fields(columns.clone())));
        for (column, value) in columns
            .iter()
            .cycle()
            .zip(lines.lines())
            .filter(|(_, v)| !v.is_empty())
        {
            let _ = writeln!(table, "  {}: {value}", column.name());
        }
    }
    insta::assert_snapshot!("columns", table);
}

#[test]
fn rows_fit_their_header() {
    let columns = Column::parse_list(DEFAULT_COLUMNS).unwrap();
    let mut csv = header(&columns);
    for (name, query) in FIXTURES {
        let answer = fixture(&format!("{name}.json"));
        csv.push_str(&tell(
            &told(query, &answer),
            &style(Form::Csv(columns.clone())),
        ));
    }
    insta::assert_snapshot!("csv", csv.replace("\r\n", "\n"));
}

#[test]
fn any_pointer_is_a_column() {
    let answer = fixture("domain-registry.json");
    let ask = |columns: &str| {
        let columns = Column::parse_list(columns).unwrap();
        tell(
            &told("bücher.example", &answer),
            &style(Form::Fields(columns)),
        )
    };
    assert_eq!(ask("/handle"), "2138514_DOMAIN-EXAMPLE\n");
    assert_eq!(
        ask("/nameservers/*/ldhName"),
        "ns1.example.net; ns2.example.net\n"
    );
    assert_eq!(
        ask("/nameservers/1,/nothing/here"),
        "{\"objectClassName\":\"nameserver\",\"ldhName\":\"ns2.example.net\"}\n\n"
    );
    assert_eq!(ask("registrar:/handle"), "\n");
    let error = Column::parse("expiry").unwrap_err().to_string();
    assert!(
        error.starts_with("no column is called 'expiry'") && error.contains(", expires, "),
        "{error}"
    );
}

#[test]
fn lines_of_json_contain_the_received_bytes() {
    let answer = Answer::read(Bytes::from_static(
        b"{ \"n\":\r\n 1.50e0,\t\"s\" : \"a \\\" \\\\\" , \"u\":\"\\u00e9 \xc3\xa9\"}\n",
    ))
    .unwrap();
    let timing = json!({"total_ms": 1.5});
    let told = LookupResult {
        note: None,
        beside: &[("timing", timing)],
        ..told("a \"b\"\n", &answer)
    };
    assert_eq!(
        String::from_utf8(line(&told)).unwrap(),
        "{\"schema\":\"roundtrip/rdap/1\",\"query\":\"a \\\"b\\\"\\n\",\"kind\":\"unknown\",\"status\":\"found\",\
         \"server\":\"https://rdap.registry.example/\",\"answer\":{\"n\":1.50e0,\"s\":\"a \\\" \\\\\",\"u\":\"\\u00e9 é\"},\
         \"timing\":{\"total_ms\":1.5}}\n"
    );
}

#[test]
fn json_cannot_control_the_terminal() {
    let answer = Answer::read(Bytes::from(
        "{\"a\": \"\u{9b}31m \u{202e}x \u{e0041}\", \"b\": \"é\"}",
    ))
    .unwrap();
    let told = told("a.example", &answer);
    let received = tell(&told, &style(Form::Json));
    assert_eq!(received.as_bytes(), [&answer.raw()[..], b"\n"].concat());
    let shown = tell(
        &told,
        &Style {
            shown: true,
            ..style(Form::Json)
        },
    );
    assert_eq!(
        shown,
        "{\"a\": \"\\u009b31m \\u202ex \\udb40\\udc41\", \"b\": \"é\"}\n"
    );
    let (a, b): (Value, Value) = (
        serde_json::from_str(&shown).unwrap(),
        serde_json::from_str(&received).unwrap(),
    );
    assert_eq!(a, b);
}

/// Every output for an answer.
pub(crate) fn tell_all(answer: &Answer, width: usize) -> Vec<(Form, String)> {
    let columns: Vec<Column> = COLUMNS
        .iter()
        .map(|c| Column::parse(c.name).unwrap())
        .collect();
    let forms = [
        Form::Readable,
        Form::Whois,
        Form::Csv(columns.clone()),
        Form::Fields(columns),
        Form::Ndjson,
        Form::Json,
    ];
    let told = LookupResult {
        note: None,
        registrar: Some(part("r", answer)),
        ..told("q", answer)
    };
    let tell = |form: Form| {
        let terminal = terminal::Style {
            width,
            colour: false,
            unicode: true,
        };
        let style = Style {
            terminal,
            verbose: true,
            shown: true,
            ..style(form.clone())
        };
        (form, tell(&told, &style))
    };
    forms.into_iter().map(tell).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hostile_text_is_never_shown_unchanged(json in crate::answer::tests::hostile(), width in 40usize..120) {
        let answer = Answer::read(Bytes::from(json)).unwrap();
        for (form, text) in tell_all(&answer, width) {
            let acts = |c: char| c.is_control() && c != '\n' && c != '\r' || ('\u{202a}'..='\u{202e}').contains(&c);
            prop_assert!(!text.contains(acts), "{form:?}: {text:?}");
            if form == Form::Readable {
                prop_assert!(text.lines().all(|l| roundtrip_report::terminal::width(l) <= width), "{text}");
            }
            if form == Form::Ndjson {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok() && text.lines().count() == 1);
            }
        }
    }
}

#[test]
fn a_column_is_the_same_in_every_process() {
    // A journal uses it to determine whether a run is continued with the same settings.
    let shown = format!("{:?}", Column::parse("expires").unwrap());
    assert_eq!(shown, "Column(NamedColumn(expires))");
}
