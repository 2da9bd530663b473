//! Valid and invalid paths, and the values that paths lead to.

use bytes::Bytes;
use proptest::prelude::*;

use super::{Budget, Path};
use crate::answer::{Answer, Node};

const ANSWER: &str = r#"{
    "handle": "D1-EX", "a/b~c": 7,
    "status": ["active", "locked"],
    "entities": [
        {"roles": ["registrant"], "vcardArray": ["vcard", [
            ["version", {}, "text", "4.0"], ["fn", {}, "text", ""],
            ["tel", {"type": "voice"}, "uri", "tel:+1.5"],
            ["adr", {}, "text", ["", "", "", "", "QC", "", ""]]]]},
        {"roles": ["technical", "billing"], "port": 1.0}
    ]
}"#;

fn node() -> Node {
    let answer = Answer::read(Bytes::from_static(ANSWER.as_bytes())).unwrap();
    answer.at("").unwrap().clone()
}

fn pointers(path: &str) -> Vec<String> {
    let root = node();
    let found = Path::parse(path)
        .unwrap_or_else(|e| panic!("{path}: {e}"))
        .find(&root, &mut Budget::default())
        .unwrap();
    for found in &found {
        assert_eq!(root.at(&found.pointer()), Some(found.node), "{path}");
    }
    found.iter().map(super::Found::pointer).collect()
}

#[test]
fn paths_lead_to_the_values_of_rfc_9535() {
    let card = "/entities/0/vcardArray/1";
    let parts = |range: std::ops::Range<u8>| -> Vec<String> {
        range.map(|i| format!("{card}/3/3/{i}")).collect()
    };
    let tel = vec![format!("{card}/2")];
    let cases: &[(&str, Vec<String>)] = &[
        ("$", vec![String::new()]),
        ("$.handle", vec!["/handle".into()]),
        ("$['a/b~c']", vec!["/a~1b~0c".into()]),
        ("$[\"handle\", 'none']", vec!["/handle".into()]),
        ("$.status[-1]", vec!["/status/1".into()]),
        ("$.status[2]", vec![]),
        (
            "$.status[::-1]",
            vec!["/status/1".into(), "/status/0".into()],
        ),
        ("$.status[::0]", vec![]),
        (
            "$.entities[?(@.roles[0]=='technical')]",
            vec!["/entities/1".into()],
        ),
        (
            "$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='fn')][3]",
            vec![format!("{card}/1/3")],
        ),
        (
            "$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='adr')][3][:3]",
            parts(0..3),
        ),
        (
            "$.entities[0].vcardArray[1][?(@[1].type=='voice')]",
            tel.clone(),
        ),
        ("$..[?@[1].type == 'voice' && @[3] != 'x']", tel.clone()),
        ("$..[?(@[0]=='tel' || @[0]=='email')]", tel),
        (
            "$.entities[?!@.vcardArray].roles[1]",
            vec!["/entities/1/roles/1".into()],
        ),
        (
            "$.entities[?length(@.roles) >= 2].port",
            vec!["/entities/1/port".into()],
        ),
        (
            "$.entities[?count(@.roles[*]) < 2].roles[0]",
            vec!["/entities/0/roles/0".into()],
        ),
        (
            "$.entities[?value(@..port) == 1].port",
            vec!["/entities/1/port".into()],
        ),
        (
            "$.entities[?@.port > 0.5][?@ == 1]",
            vec!["/entities/1/port".into()],
        ),
        (
            "$.entities[?@.none == @.nothing].port",
            vec!["/entities/1/port".into()],
        ),
        (
            "$.entities[?@.roles == $.entities[1].roles].port",
            vec!["/entities/1/port".into()],
        ),
        ("$.status[?@ <= 'b']", vec!["/status/0".into()]),
    ];
    for (path, expected) in cases {
        assert_eq!(&pointers(path), expected, "{path}");
    }
    assert_eq!(pointers("$ .status\n[ 0 ]"), ["/status/0"]);
}

#[test]
fn invalid_paths_are_refused() {
    for path in [
        "",
        "handle",
        "/handle",
        "$.",
        "$. handle",
        "$..",
        "$handle",
        "$.handle ",
        " $.handle",
        "$.a-b",
        "$.1a",
        "$[a]",
        "$[01]",
        "$[-0]",
        "$[9007199254740992]",
        "$[1",
        "$[]",
        "$['a]",
        "$['\\\"']",
        "$['\u{7}']",
        "$.entities[?(@.roles[*]=='technical')]",
        "$.entities[?(@.roles contains 'technical')]",
        "$.entities[?(@.roles[0]='technical')]",
        "$.entities[?(@.roles[0]==technical)]",
        "$.entities[?('a')]",
        "$.entities[?length(@.a)]",
        "$.entities[?count(1) == 1]",
        "$.entities[?match(@.a)]",
        "$.entities[?nothing(@.a)]",
        "$.entities[(@.length-1)]",
        "$.entities[?(@.a == 1.)]",
    ] {
        assert!(Path::parse(path).is_err(), "{path}");
    }
    let deep = format!("$[?{}1==1{}]", "(".repeat(500), ")".repeat(500));
    assert!(Path::parse(&deep).is_err());
}

#[test]
fn a_regular_expression_is_valid_but_not_evaluated() {
    let path = Path::parse("$.status[?search(@, 'act.*')]").unwrap();
    assert!(path.find(&node(), &mut Budget::default()).is_none());
}

#[test]
fn evaluation_ends() {
    let path = Path::parse("$..[?$..[?$..[?$..[?$..[?$..*]]]]]").unwrap();
    assert!(path.find(&node(), &mut Budget::default()).is_none());
}

#[test]
fn evaluation_costs_what_it_compares_and_selects() {
    let many = |step: &str, n: usize| vec![step; n].join(",");
    let names: Vec<String> = (0..5_000).map(|n| format!("\"m{n}\":0")).collect();
    let wide = format!("{{{}}}", names.join(","));
    let long = "x".repeat(1 << 20);
    let json = format!(
        r#"{{"deep": [[[[0]]]], "wide": {wide}, "same": {wide}, "long": "{long}", "again": "{long}",
            "few": [0, 0, 0], "list": [{}]}}"#,
        many("0", 1000)
    );
    let root = Answer::read(Bytes::from(json)).unwrap();
    let root = root.at("").unwrap();
    let product = format!("$.deep{}", format!("[{}]", many("0", 150)).repeat(3));
    let absent = format!("$.wide[{}]", many("'m'", 950));
    for path in [
        &*product,
        &*absent,
        "$.few[?$.wide == $.same]",
        "$.list[?$.long == $.again]",
        "$.list[?length($.long) == 1]",
    ] {
        let found = Path::parse(path)
            .unwrap()
            .find(root, &mut Budget::default());
        assert!(found.is_none(), "{}", path.get(..30).unwrap_or(path));
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(path in r"\$[\.\[\]\*\?@'a-c0-2:,()!=<>&| -]{0,24}") {
        if let Ok(path) = Path::parse(&path) {
            let _ = path.find(&node(), &mut Budget::default());
        }
    }

    #[test]
    fn nothing_panics(path in "\\PC{0,40}") {
        let _ = Path::parse(&path);
    }
}
