//! The contract: every promised key exists, has its type, and is documented.

use std::collections::BTreeSet;

use proptest::prelude::*;
use roundtrip_model::Exchange;
use roundtrip_report::json::{document, result, summary};
use serde_json::Value;

use crate::samples;

/// The keys of the first version.
const PROMISED: &[&str] = &[
    "/schema",
    "/results/0/url",
    "/results/0/strategy",
    "/results/0/ok",
    "/results/0/error",
    "/results/0/total_ms",
    "/results/0/rtt_ms",
    "/results/0/round_trips",
    "/results/0/phases/0/name",
    "/results/0/phases/0/start_ms",
    "/results/0/phases/0/ms",
    "/results/0/phases/0/round_trips",
    "/results/0/phases/0/waited_for/network_ms",
    "/results/0/phases/0/waited_for/server_ms",
    "/results/0/phases/0/waited_for/client_ms",
    "/results/0/tcp/fast_open/asked",
    "/results/0/tcp/fast_open/data_acked",
    "/results/0/tcp/fast_open/saved_round_trips",
    "/results/0/tcp/retransmits",
    "/results/0/tls/version",
    "/results/0/tls/cipher",
    "/results/0/tls/group",
    "/results/0/tls/resumed",
    "/results/0/tls/early_data",
    "/results/0/tls/hello_retry",
    "/results/0/http/version",
    "/results/0/http/status",
    "/results/0/findings/0/id",
    "/results/0/findings/0/ms",
    "/results/0/findings/0/round_trips",
    "/results/0/findings/0/evidence",
    "/results/0/findings/0/remedy",
    "/summary",
];

#[test]
fn the_promised_keys_are_there() {
    let value = document(&[samples::explained()]);
    for key in PROMISED {
        assert!(value.pointer(key).is_some(), "{key} is missing");
    }
    assert_eq!(value["schema"], "roundtrip/probe/1");
    assert_eq!(value["results"][0]["error"], Value::Null);
    assert_eq!(value["results"][0]["round_trips"], 3);
    assert_eq!(value["results"][0]["strategy"], "h2+tls1.3");
    assert_eq!(value["results"][0]["rtt_ms"], 50.0);
    assert_eq!(value["results"][0]["tls"]["early_data"], false);
}

#[test]
fn values_that_were_not_observed_are_null() {
    let value = result(&samples::refused());
    for key in [
        "rtt_ms", "tcp", "tls", "quic", "http", "echo", "name", "ttfb_ms",
    ] {
        assert!(value[key].is_null(), "{key}: {}", value[key]);
    }
    assert_eq!(value["ok"], false);
    assert!(value["error"].as_str().unwrap().contains("refused"));
    assert_eq!(value["failure"]["kind"], "refused");
    assert_eq!(value["failure"]["phase"], "tcp");
    assert!(result(&samples::quic())["tcp"].is_null());
    assert_eq!(result(&samples::quic())["tls"]["early_data"], true);
}

#[test]
fn bytes_that_are_not_text_are_escaped() {
    let value = result(&samples::cold(1.0));
    let headers = value["http"]["headers"].as_array().unwrap();
    let odd = headers.iter().find(|h| h["name"] == "x-odd").unwrap();
    assert_eq!(odd["value"], "caf\\xe9");
}

#[test]
fn printed_phases_add_up() {
    let value = result(&samples::explained());
    let sum: f64 = value["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["ms"].as_f64().unwrap())
        .sum();
    assert!((sum - value["total_ms"].as_f64().unwrap()).abs() < 0.01);
    let waits: f64 = value["waited_for"]
        .as_object()
        .unwrap()
        .values()
        .map(|v| v.as_f64().unwrap())
        .sum();
    assert!((waits - sum).abs() < 0.01);
    // Exactly three decimals.
    let digits = value["total_ms"].to_string();
    assert!(
        digits.split_once('.').is_none_or(|(_, d)| d.len() <= 3),
        "{digits}"
    );
}

#[test]
fn the_summary_counts_runs_not_hops() {
    let mut all = samples::redirected();
    for mut e in samples::redirected() {
        e.run = 1;
        all.push(e);
    }
    let figures = summary(&all);
    assert_eq!((&figures["n"], &figures["ok"]), (&2.into(), &2.into()));
    assert_eq!(figures["total_ms"]["median"], 294.4);
    assert_eq!(figures["ttfb_ms"]["median"], 292.1);
    assert_eq!(figures["round_trips"]["max"], 5.0);
    assert_eq!(figures["phases"]["tcp"]["median"], 100.3);

    let series = summary(&samples::repeats(20));
    assert_eq!(series["failed"], 2);
    assert_eq!(series["success_rate"], 0.9);
    assert_eq!(series["failures"]["refused"], 2);
    assert_eq!(series["total_ms"]["n"], 18);
    assert!(series.get("by_url").is_none());
    assert!(summary(&[])["total_ms"].is_null());
}

#[test]
fn each_url_has_a_separate_summary() {
    let figures = summary(&[samples::cold(1.0), samples::quic(), samples::cold(9.0)]);
    let each = figures["by_url"].as_array().unwrap();
    assert_eq!(each.len(), 2);
    assert_eq!((&each[0]["n"], &each[1]["n"]), (&2.into(), &1.into()));
    assert_eq!(each[1]["url"], "https://shop.example/");
}

#[test]
fn keys_have_a_stable_order() {
    let keys = |e: &Exchange| {
        result(e)
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&samples::explained()), keys(&samples::refused()));
    insta::assert_snapshot!(
        "document",
        serde_json::to_string_pretty(&document(&[samples::explained()])).unwrap()
    );
}

#[test]
fn every_key_is_documented() {
    let mut all = samples::redirected();
    all.extend([samples::explained(), samples::quic(), samples::refused()]);
    if let Some(first) = all.first_mut() {
        first.echo = Some(roundtrip_model::EchoFacts::default());
        first.attempts = vec![samples::attempt()];
    }
    let mut keys = BTreeSet::new();
    collect(&document(&all), &mut keys);
    let guide = include_str!("../../../../docs/json.md");
    let missing: Vec<&String> = keys
        .iter()
        .filter(|k| !guide.contains(&format!("`{k}`")))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/json.md does not explain {missing:?}"
    );
}

/// Collects all keys; those that are data (phase names, tasks, kinds of failure) are documented as
/// such.
fn collect(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                keys.insert(key.clone());
                collect(value, keys);
            }
        }
        Value::Array(items) => items.iter().for_each(|v| collect(v, keys)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn any_exchange_becomes_a_document(exchange in crate::any_exchange()) {
        let value = document(std::slice::from_ref(&exchange));
        let text = value.to_string();
        prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
