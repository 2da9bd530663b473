//! Probes of slow servers: the scrape says which party was waited for, and why.

use super::scene::{exporter, origin, probe, write};

#[test]
fn the_scrape_names_the_cause_and_the_party() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let (_origin, _, https) = origin(&ca, &[]);
    let ca = ca.display();
    let text = format!(
        "modules:\n  http_2xx:\n    prober: http\n    http: {{preferred_ip_protocol: ip4, tls_config: {{ca_file: {ca}}}}}\n"
    );
    let (_running, at) = exporter(&write(folder.path(), "b.yml", &text));
    let healthy = probe(at, "http_2xx", &format!("{https}/bytes/100"));
    assert_eq!(healthy["probe_http_round_trips"].to_string(), "3");
    assert!(
        !healthy.contains_key("probe_finding{id=\"server-think-time\"}"),
        "{healthy:#?}"
    );
    let thinks = folder.path().join("other.pem");
    let (_slow, http, _) = origin(&thinks, &["--think", "300ms"]);
    let slow = probe(at, "http_2xx", &format!("{http}/bytes/100"));
    let cost = slow["probe_finding_seconds{id=\"server-think-time\"}"];
    assert!((0.25..3.0).contains(&cost), "{cost}");
    assert!(
        slow["probe_wait_seconds{by=\"server\"}"] >= cost * 0.9,
        "{slow:#?}"
    );
}

/// Cold and warm in one scrape, and one of our strategies in blackbox_exporter's file.
#[test]
fn a_module_may_ask_twice_and_in_another_way() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let (_origin, _, https) = origin(&ca, &["--early-data", "on"]);
    let ca = ca.display();
    let module = |own: &str| {
        format!(
            "{{prober: http, http: {{preferred_ip_protocol: ip4, tls_config: {{ca_file: {ca}}}, roundtrip: {{{own}}}}}}}"
        )
    };
    let text = format!(
        "modules:\n  warm: {}\n  h3: {}\n  early: {}\n",
        module("warm: true"),
        module("strategy: h3"),
        module("strategy: h2+tls1.3+0rtt")
    );
    let (_running, at) = exporter(&write(folder.path(), "b.yml", &text));
    let target = format!("{https}/bytes/100");
    let warm = probe(at, "warm", &target);
    let counts = [
        warm["probe_http_round_trips"],
        warm["probe_warm_round_trips"],
        warm["probe_warm_success"],
    ];
    assert_eq!(counts.map(|count| count as u32), [3, 1, 1]);
    let h3 = probe(at, "h3", &target);
    let seen = [h3["probe_http_version"], h3["probe_http_round_trips"]];
    assert_eq!(seen.map(|count| count as u32), [3, 2], "{h3:#?}");
    let early = probe(at, "early", &target);
    let seen = [
        early["probe_tls_resumed"],
        early["probe_tls_early_data_accepted"],
        early["probe_http_round_trips"],
    ];
    assert_eq!(seen.map(|count| count as u32), [1, 1, 2]);
}
