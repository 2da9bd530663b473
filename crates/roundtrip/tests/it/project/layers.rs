//! Arrows point down: the crates depend on each other as drawn in ARCHITECTURE.md, and in no other
//! way.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::skip;

/// The layers of the picture, the lowest first. A new crate is added here and in ARCHITECTURE.md.
const LAYERS: [(f32, &str); 27] = [
    (0.0, "model"),
    (1.0, "wire"),
    (2.0, "net"),
    (2.0, "tls"),
    (2.0, "path"),
    (2.0, "quic"),
    // The engine's driver is above L2 and below `http`.
    (2.5, "quic-tokio"),
    (3.0, "http"),
    (3.0, "explain"),
    (3.0, "report"),
    (3.0, "store"),
    // A client that keeps connections: not a verb, but a library for verbs.
    (3.5, "fetch"),
    // What verbs say about themselves, sent by that client.
    (3.7, "otlp"),
    (4.0, "probe"),
    (4.0, "rdap"),
    (4.0, "gate"),
    (4.0, "origin"),
    (4.0, "doctor"),
    (4.0, "perf"),
    (4.0, "diff"),
    (4.0, "history"),
    (4.0, "trace"),
    (4.0, "tap"),
    (5.0, "compare"),
    (5.0, "exporter"),
    (5.0, "lab"),
    (6.0, "roundtrip"),
];

/// Crates that may use only these few of the lower crates.
const KEPT_PURE: [(&str, &[&str]); 5] = [
    ("wire", &["model"]),
    ("explain", &["model", "wire"]),
    ("report", &["model", "wire"]),
    ("diff", &["model", "wire", "report"]),
    ("trace", &["model", "wire", "explain", "report"]),
];

/// Crates that only measure: they belong to no layer, and a crate uses them through a feature that
/// is off by default.
const FOR_MEASURING: [&str; 1] = ["packet-aead"];

#[test]
fn dependencies_point_down() {
    let wrong: Vec<String> = edges()
        .iter()
        .filter(|(_, to)| !FOR_MEASURING.contains(&to.as_str()))
        .filter_map(|(from, to)| forbidden(from, to).map(|why| format!("{from} → {to}: {why}")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `scripts/circles` lists the top-level modules of a crate that import each other in circles.
#[test]
fn modules_point_down_as_well() {
    const TEST: &str = "modules_point_down_as_well";
    if !Path::new("/usr/bin/python3").exists() {
        return skip::lacking(TEST, "Python");
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/circles");
    let output = Command::new("/usr/bin/python3").arg(script).output();
    let output = output.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let circles = String::from_utf8_lossy(&output.stdout);
    assert_eq!(circles, "");
}

#[test]
fn the_picture_shows_the_crates_that_exist() {
    let shipped = LAYERS.iter().map(|(_, name)| *name);
    let mut drawn: Vec<String> = shipped.chain(FOR_MEASURING).map(Into::into).collect();
    let mut real: Vec<String> = packages().iter().map(name).collect();
    drawn.sort();
    real.sort();
    assert_eq!(drawn, real);
}

#[test]
fn features_for_measuring_are_off_by_default() {
    for package in packages() {
        for dependency in package["dependencies"].as_array().unwrap() {
            if FOR_MEASURING.contains(&name(dependency).as_str()) {
                let is_off = dependency["kind"] == "dev" || dependency["optional"] == true;
                assert!(is_off, "{} → {}", name(&package), name(dependency));
            }
        }
        let features = package["features"]["default"].as_array();
        assert!(features.is_none_or(Vec::is_empty), "{}", name(&package));
    }
}

/// `cargo run -- demo` is the README's first command: it works only if there is a single program to
/// run.
#[test]
fn cargo_knows_what_to_run() {
    let programs: Vec<String> = packages()
        .iter()
        .flat_map(|package| package["targets"].as_array().unwrap().clone())
        .filter(|target| target["kind"][0] == "bin")
        .map(|target| name(&target))
        .collect();
    assert_eq!(programs, ["roundtrip"]);
}

/// Two of them would do the same work, with twice the vulnerabilities to follow.
#[test]
fn one_cryptographic_library_is_linked() {
    // `cargo metadata` lists optional dependencies that no feature turns on; `cargo tree` does not.
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--workspace",
            "--edges=normal,build,dev",
        ])
        .args(["--prefix=none", "--format={p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    let linked: Vec<String> = tree
        .lines()
        .filter_map(|l| l.split(' ').next())
        .map(str::to_owned)
        .collect();
    assert!(linked.contains(&"aws-lc-rs".into()), "{linked:?}");
    for other in ["ring", "openssl", "openssl-sys", "native-tls"] {
        assert!(!linked.contains(&other.into()), "{other} is in the tree");
    }
}

#[test]
fn the_rule_refuses_what_the_picture_forbids() {
    for (from, to) in [
        ("model", "wire"),
        ("wire", "net"),
        ("net", "tls"),
        ("tls", "path"),
        ("tls", "quic-tokio"),
        ("quic-tokio", "http"),
        ("http", "report"),
        ("report", "net"),
        ("probe", "origin"),
        ("doctor", "roundtrip"),
        ("probe", "unheard-of"),
    ] {
        assert!(forbidden(from, to).is_some(), "{from} → {to}");
    }
    for (from, to) in [
        ("wire", "model"),
        ("report", "wire"),
        ("quic-tokio", "quic"),
        ("http", "quic-tokio"),
        ("probe", "net"),
    ] {
        assert_eq!(forbidden(from, to), None, "{from} → {to}");
    }
}

/// Why this edge is forbidden; `None` if it is allowed.
fn forbidden(from: &str, to: &str) -> Option<String> {
    let (Some(above), Some(below)) = (layer(from), layer(to)) else {
        return Some("not in the picture".into());
    };
    if below >= above {
        return Some(format!("L{above} may use lower layers, not L{below}"));
    }
    let (_, allowed) = KEPT_PURE.iter().find(|(name, _)| *name == from)?;
    let pure = allowed.contains(&to);
    (!pure).then(|| format!("{from} uses {} alone", allowed.join(" and ")))
}

fn layer(name: &str) -> Option<f32> {
    LAYERS.iter().find(|(_, n)| *n == name).map(|(l, _)| *l)
}

/// The dependencies among the crates, without tests: these may use any crate.
fn edges() -> Vec<(String, String)> {
    let mut edges = Vec::new();
    for package in packages() {
        for dependency in package["dependencies"].as_array().unwrap() {
            if dependency["kind"] != "dev" && dependency["path"].is_string() {
                edges.push((name(&package), name(dependency)));
            }
        }
    }
    // Each crate but the lowest uses another: fewer edges mean that not all were read.
    assert!(edges.len() >= LAYERS.len() - 1, "{edges:?}");
    edges
}

fn name(package: &Value) -> String {
    let full = package["name"].as_str().unwrap();
    full.strip_prefix("roundtrip-").unwrap_or(full).into()
}

fn packages() -> Vec<Value> {
    metadata(&["--no-deps"])
}

fn metadata(arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version=1"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
    match document["packages"].take() {
        Value::Array(packages) => packages,
        other => panic!("no packages: {other}"),
    }
}
