//! Names inside the path, and that the host's names are unchanged.

use std::fs;

use serde_json::Value;

use crate::path::run::inside;
use crate::process::ROUNDTRIP;

#[test]
fn names_stand_in_a_hosts_file_that_nobody_else_sees() {
    let before = fs::read_to_string("/etc/hosts").unwrap();
    let seen = inside(&["--name", "shop.example"], "cat /etc/hosts");
    assert!(
        seen.contains("198.18.0.2 server server.test origin.test shop.example\n"),
        "{seen}"
    );
    assert!(seen.contains("198.18.0.1 client"), "{seen}");
    // The host's own names are still there.
    let (first, _) = before.split_once('\n').unwrap();
    assert!(seen.contains(first), "{seen}");
    assert_eq!(fs::read_to_string("/etc/hosts").unwrap(), before);
    let workshop = inside(&[], "ls /tmp/hosts /mnt/hosts 2>/dev/null | wc -l");
    assert_eq!(workshop.trim(), "0");
}

#[test]
fn a_lookup_in_the_file_crosses_nothing() {
    let report = probe(&[]);
    assert_eq!(report["results"][0]["ok"], true, "{report:#}");
    assert_eq!(report["results"][0]["name"]["source"], "hosts");
}

#[test]
fn a_lookup_of_the_server_costs_a_round_trip_and_its_delay() {
    let report = probe(&["--dns", "10ms"]);
    assert_eq!(report["results"][0]["ok"], true, "{report:#}");
    assert_eq!(report["results"][0]["name"]["server"], "198.18.0.2:53");
    // The path delays a question and its answer by this much, and the server waits.
    assert!(lookup_ms(&report) >= 30.0, "{report:#}");
}

#[test]
fn the_name_server_knows_what_there_is_and_says_so_of_the_rest() {
    let ask = |name: &str| {
        let line = format!("{ROUNDTRIP} probe --json -q http://{name}/; true");
        let report = inside(&["--origin", "--dns", "--quiet"], &line);
        let report: Value = serde_json::from_str(&report).unwrap();
        report["results"][0].clone()
    };
    for name in ["server", "anything.test", "ORIGIN.test"] {
        assert_eq!(ask(name)["ok"], true, "{name}");
    }
    let unknown = ask("nowhere.example");
    assert_eq!(unknown["ok"], false, "{unknown:#}");
    assert!(unknown["error"].to_string().contains("name"), "{unknown:#}");
}

/// One request over a path of 20 ms.
fn probe(flags: &[&str]) -> Value {
    let flags = [&["--rtt=20ms", "--origin", "--quiet"], flags].concat();
    let report = inside(
        &flags,
        &format!("{ROUNDTRIP} probe --json -q http://server/"),
    );
    serde_json::from_str(&report).unwrap()
}

fn lookup_ms(report: &Value) -> f64 {
    let phases = report["results"][0]["phases"].as_array().unwrap();
    let lookup = phases.iter().find(|phase| phase["name"] == "name");
    lookup.unwrap_or_else(|| panic!("{report:#}"))["ms"]
        .as_f64()
        .unwrap()
}
