//! The output in each form.

use crate::rdap::scene::{Scene, documents};

#[test]
fn text_is_for_people() {
    let scene = Scene::new();
    let said = scene.run(&["one.example", "two.example"]);
    assert_eq!(said.code, 0, "{said:?}");
    for words in [
        "one.example",
        "two.example",
        "Example registrar",
        "Redacted",
    ] {
        assert!(said.out.contains(words), "{words}: {said:?}");
    }
    assert_eq!(said.out.matches("Name servers").count(), 2);
    assert!(!said.out.contains('\u{1b}'));
}

#[test]
fn each_json_line_is_a_document() {
    let scene = Scene::new();
    let names = [
        "one.example",
        "missing-1.example",
        "html.example",
        "not a name!",
    ];
    let mut arguments = vec!["--json", "--ordered", "--timing", "--check"];
    arguments.extend(names);
    let said = scene.run(&arguments);
    assert_eq!(said.code, 1, "{said:?}");
    let documents = documents(&said.out);
    let told: Vec<_> = documents
        .iter()
        .map(|d| (d["query"].as_str().unwrap(), d["status"].as_str().unwrap()))
        .collect();
    let states = ["found", "not-registered", "failed", "failed"];
    assert!(
        told.iter().copied().eq(names.into_iter().zip(states)),
        "{told:?}"
    );
    let one = &documents[0];
    assert_eq!(one["answer"]["ldhName"], "one.example");
    assert_eq!(one["registrar"]["answer"]["ldhName"], "one.example");
    assert_eq!(one["timing"].as_array().unwrap().len(), 2);
    assert!(one["timing"][0]["ms"]["total"].as_f64().unwrap() > 0.0);
    assert_eq!(one["check"].as_array().unwrap().len(), 2);
    assert!(documents[2]["error"].as_str().unwrap().contains("web page"));
    assert!(documents[3].get("answer").is_none());
}

#[test]
fn a_table_has_one_header() {
    let scene = Scene::new();
    let said = scene.run(&["--csv", "--ordered", "one.example", "missing-1.example"]);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 3, "{said:?}");
    assert!(lines[0].starts_with("query,status,"));
    assert!(lines[1].starts_with("one.example,found,"));
    assert!(lines[2].starts_with("missing-1.example,not-registered,"));
    // Naming columns is enough.
    let said = scene.run(&["--columns", "name,/handle", "one.example"]);
    assert_eq!(said.out, "name,/handle\r\none.example,D11-EXAMPLE\r\n");
}

#[test]
fn the_servers_bytes_and_single_fields() {
    let scene = Scene::new();
    let raw = scene.run(&["--raw", "thick.example"]);
    let answer: serde_json::Value = serde_json::from_str(&raw.out).unwrap();
    assert_eq!(answer["ldhName"], "thick.example");
    let fields = scene.run(&["--field", "registrar", "--field", "/ldhName", "one.example"]);
    assert_eq!(fields.out, "Example registrar\none.example\n");
    let whois = scene.run(&["--whois", "one.example"]);
    assert!(whois.out.starts_with("Domain Name: "), "{whois:?}");
}

#[test]
fn timings_are_told_in_text_too() {
    let scene = Scene::new();
    let said = scene.run(&["--timing", "one.example"]);
    assert_eq!(said.out.matches("timing: h").count(), 2, "{said:?}");
    let said = scene.run(&["--timing", "--no-follow", "fresh.example"]);
    assert_eq!(said.out.matches("timing: h").count(), 1, "{said:?}");
    let said = scene.run(&["--timing", "--no-follow", "fresh.example"]);
    assert!(said.out.contains("timing: from memory"), "{said:?}");
}

#[test]
fn a_search_is_told_page_by_page() {
    let scene = Scene::new();
    let first = scene.run(&["--columns", "name", "domains:exam*"]);
    assert_eq!(first.out.lines().count(), 51, "{first:?}");
    assert!(first.err.contains("--pages 2"), "{first:?}");
    let all = scene.run(&["--columns", "name", "--pages", "9", "domains:exam*"]);
    assert_eq!(all.out.lines().count(), 121);
    assert_eq!((all.code, all.err.as_str()), (0, ""));
}

#[test]
fn passwords_are_shown_nowhere() {
    let scene = Scene::new();
    let server = scene.server().replace("//", "//user:canary@");
    for form in ["--json", "--raw", "--whois", "--timing", "--csv"] {
        let said = crate::rdap::scene::said(scene.plain(&[
            "--no-memory",
            "--server",
            &server,
            form,
            "one.example",
            "html.example",
        ]));
        assert_eq!(said.code, 1, "{said:?}");
        let all = said.out + &said.err;
        assert!(
            all.contains("one.example") && !all.contains("canary"),
            "{all}"
        );
    }
}

#[test]
fn the_version_says_how_old_the_registries_are() {
    let scene = Scene::new();
    let said = scene.run(&["--version"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.starts_with("roundtrip "), "{said:?}");
    for registry in ["dns", "ipv4", "ipv6", "asn", "object-tags"] {
        let line = said
            .out
            .lines()
            .find(|l| l.trim_start().starts_with(registry));
        let line = line.unwrap();
        assert!(line.contains("20") && line.contains("built in"), "{line}");
    }
    assert!(said.out.contains("memory"), "{said:?}");
    assert!(!scene.path("memory").exists());
}
