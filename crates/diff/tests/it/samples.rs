//! Reports as `probe` writes them, made by hand: phases with their waits.

use roundtrip_diff::{Contribution, Probe, ProbeDiff, Report, read};
use serde_json::{Value, json};

/// A phase: name, round trips, and what it waited for: network, server, client, resolver, loss.
pub(crate) type Phase<'a> = (&'a str, u32, [f64; 5]);

pub(crate) fn result(rtt: f64, phases: &[Phase<'_>]) -> Value {
    let phases: Vec<Value> = phases.iter().map(phase).collect();
    let total: f64 = phases.iter().map(|p| p["ms"].as_f64().unwrap()).sum();
    json!({
        "url": "https://shop.example/", "run": 0, "hop": 0, "ok": true, "error": null,
        "strategy": "h1+tls1.3", "total_ms": total, "ttfb_ms": total, "rtt_ms": rtt, "reused": false,
        "phases": phases, "client_work": {}, "findings": [],
        "tls": { "version": "TLSv1.3", "resumed": false, "hello_retry": false },
    })
}

fn phase((name, trips, waited): &Phase<'_>) -> Value {
    json!({
        "name": name, "ms": waited.iter().sum::<f64>(), "round_trips": trips, "first_sent_ms": null,
        "waited_for": {
            "network_ms": waited[0], "server_ms": waited[1], "client_ms": waited[2],
            "resolver_ms": waited[3], "loss_ms": waited[4],
        },
    })
}

/// The document of these results, each a separate run.
pub(crate) fn document(results: impl IntoIterator<Item = Value>) -> Vec<u8> {
    let number = |(run, mut result): (usize, Value)| {
        result["run"] = json!(run);
        result
    };
    let results: Vec<Value> = results.into_iter().enumerate().map(number).collect();
    json!({ "schema": "roundtrip/probe/1", "results": results })
        .to_string()
        .into_bytes()
}

pub(crate) fn probe(bytes: &[u8]) -> Probe {
    match read(bytes, None).unwrap() {
        Report::Probe(probe) => probe,
        Report::Doctor(_) => panic!("a report of doctor"),
    }
}

pub(crate) fn diff(
    a: impl IntoIterator<Item = Value>,
    b: impl IntoIterator<Item = Value>,
) -> ProbeDiff {
    ProbeDiff::new(&probe(&document(a)), &probe(&document(b))).unwrap()
}

/// The only part whose description begins like this.
pub(crate) fn part<'a>(diff: &'a ProbeDiff, what: &str) -> &'a Contribution {
    let mut found = diff.parts.iter().filter(|p| p.what.starts_with(what));
    let part = found
        .next()
        .unwrap_or_else(|| panic!("no part '{what}': {:#?}", diff.parts));
    assert!(found.next().is_none(), "{what}");
    part
}

/// An old image: TLS 1.2, and a library that computes before the ClientHello.
pub(crate) fn old_image(noise: f64) -> Value {
    let mut result = result(
        0.3,
        &[
            ("tcp", 1, [0.3, 0.0, 0.0, 0.0, 0.0]),
            ("tls", 2, [0.6, 1.0, 133.0 + noise, 0.0, 0.0]),
            ("first_byte", 1, [0.3, 5.0, 0.0, 0.0, 0.0]),
        ],
    );
    result["phases"][1]["first_sent_ms"] = json!(131.0 + noise);
    result["client_work"] = json!({ "configure_ms": 130.5 + noise, "verify_ms": 0.5 });
    result["tls"]["version"] = json!("TLSv1.2");
    result["findings"] = json!([
        { "id": "slow-client-library", "ms": 130.5, "round_trips": 0, "evidence": "e", "remedy": "r" },
        { "id": "tls12-full-handshake", "ms": 0.3, "round_trips": 1, "evidence": "e", "remedy": "r" },
    ]);
    result
}

/// A new image: TLS 1.3, and a library that does not compute before the ClientHello.
pub(crate) fn new_image(noise: f64) -> Value {
    let mut result = result(
        0.3,
        &[
            ("tcp", 1, [0.3, 0.0, 0.0, 0.0, 0.0]),
            ("tls", 1, [0.3, 1.0, 2.0 + noise, 0.0, 0.0]),
            ("first_byte", 1, [0.3, 5.0, 0.0, 0.0, 0.0]),
        ],
    );
    result["phases"][1]["first_sent_ms"] = json!(0.5);
    result["client_work"] = json!({ "configure_ms": 0.4, "verify_ms": 0.5 });
    result
}
