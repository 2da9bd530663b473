//! `roundtrip causes` for people and programs.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

fn causes(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roundtrip"));
    command.arg("causes").args(arguments).env("COLUMNS", "100");
    command.output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_list_leads_to_each_of_its_causes() {
    let listed = causes(&[]);
    assert!(listed.status.success() && listed.stderr.is_empty());
    let listed = out(&listed);
    let json: serde_json::Value = serde_json::from_str(&out(&causes(&["--json"]))).unwrap();
    assert_eq!(json["schema"], "roundtrip/causes/1");
    let all = json["causes"].as_array().unwrap();
    assert!(all.len() >= 45, "{}", all.len());
    for cause in all {
        let id = cause["id"].as_str().unwrap();
        assert!(listed.contains(&format!("  {id} ")), "{id}");
    }
    assert!(
        listed.lines().all(|line| line.chars().count() <= 100),
        "{listed}"
    );
}

#[test]
fn one_is_explained() {
    let told = causes(&["tls12-full-handshake"]);
    assert!(told.status.success());
    let text = out(&told);
    for part in [
        "shows",
        "costs",
        "1 round trip",
        "ssl_protocols",
        "RFC 8446",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&out(&causes(&["tls12-full-handshake", "--json"]))).unwrap();
    assert_eq!(json["causes"].as_array().unwrap().len(), 1);
    assert_eq!(json["causes"][0]["settings"][0]["of"], "nginx");
}

#[test]
fn an_unknown_cause_is_wrong_usage_with_a_guess() {
    let wrong = causes(&["syn-losst"]);
    assert_eq!(wrong.status.code(), Some(2));
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        said.contains("did you mean syn-lost?") && said.lines().count() <= 2,
        "{said}"
    );
    assert!(wrong.stdout.is_empty());
}
