//! What `probe --json` says about TLS is what the server did, over TCP and over QUIC.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use roundtrip_origin::{ClientCertificate, Knobs, Origin};
use serde_json::Value;

#[test]
fn a_request_for_a_certificate_is_told() {
    for (knob, asked) in [
        (ClientCertificate::Off, false),
        (ClientCertificate::Request, true),
    ] {
        let mut knobs = Knobs::default();
        knobs.tls.client_certificate = knob;
        for (strategy, facts) in tls_facts(knobs, &["h1+tls1.2", "h1+tls1.3", "h2+tls1.3", "h3"]) {
            assert_eq!(facts["client_certificate_asked"], asked, "{strategy}");
        }
    }
}

#[test]
fn tickets_are_counted() {
    // A client that will not resume keeps no tickets.
    let strategies = ["h1+tls1.3+resume", "h2+tls1.3+resume", "h3+resume"];
    for (strategy, facts) in tls_facts(Knobs::default(), &strategies) {
        let tickets = facts["tickets"].as_u64().unwrap();
        assert!(tickets > 0, "{strategy}: {facts}");
    }
}

#[test]
fn keys_are_logged_where_the_variable_says() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys");
    for (strategy, label) in [
        ("h1+tls1.2", "CLIENT_RANDOM "),
        ("h2+tls1.3", "CLIENT_TRAFFIC_SECRET_0 "),
        ("h3", "CLIENT_TRAFFIC_SECRET_0 "),
    ] {
        let _ = fs::remove_file(&file);
        probe(Knobs::default(), &[strategy], Some(&file));
        let logged = fs::read_to_string(&file).unwrap();
        let lines = logged.lines().filter(|line| line.starts_with(label));
        assert_eq!(lines.count(), 1, "{strategy}: {logged}");
    }
}

/// The facts of one request each, in these ways.
fn tls_facts<'a>(knobs: Knobs, strategies: &[&'a str]) -> Vec<(&'a str, Value)> {
    probe(knobs, strategies, None)
}

fn probe<'a>(knobs: Knobs, strategies: &[&'a str], keys: Option<&Path>) -> Vec<(&'a str, Value)> {
    let origin = Origin::spawn_thread(knobs).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let authority = directory.path().join("ca.pem");
    fs::write(&authority, &origin.ca_pem).unwrap();
    let url = format!("https://localhost:{}/", origin.https.port());
    let probe = |strategy: &&'a str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roundtrip"));
        match keys {
            Some(file) => command.env("SSLKEYLOGFILE", file),
            None => command.env_remove("SSLKEYLOGFILE"),
        };
        let output = command
            .args(["probe", "-4", "--json", "--strategy", strategy, "--cacert"])
            .arg(&authority)
            .arg(&url)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
        (*strategy, document["results"][0]["tls"].take())
    };
    strategies.iter().map(probe).collect()
}
