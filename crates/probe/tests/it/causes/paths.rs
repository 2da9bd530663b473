//! Paths and bodies: lines, windows, pauses, and round trips that differ.

use std::time::Duration;

use roundtrip_model::Exchange;
use roundtrip_origin::Knobs;
use roundtrip_path::Path;

use super::trip;
use crate::scene::{RTT, Scene};

fn over(words: &[(&str, &str)]) -> Scene {
    let mut path = Path::builder().rtt(RTT);
    for (word, value) in words {
        path.set(word, value).unwrap();
    }
    Scene::over(path.build().unwrap(), Knobs::default())
}

/// The first finding, and its cost in round trips of the path.
fn first(exchange: &Exchange) -> (&'static str, f64) {
    let told = || format!("{:?} {:?}", exchange.findings, exchange.phases());
    assert!(exchange.ok(), "{:?}", exchange.failure);
    let first = exchange.findings.first();
    let first = first.unwrap_or_else(|| panic!("there are no findings: {}", told()));
    (first.id, first.ms / trip())
}

#[test]
fn a_slow_line_downstream() {
    // 300 kB at 2 Mbit/s are 1.2 s.
    let scene = over(&[("rate", "down:2mbit"), ("queue", "down:3s")]);
    for word in ["h1+clear", "h2+tls1.3"] {
        let (id, trips) = first(&scene.probe(word, "/bytes/300000"));
        assert_eq!(id, "slow-downlink", "{word}");
        assert!((8.0..13.0).contains(&trips), "{word}: {trips}");
    }
}

#[test]
fn a_server_that_pauses_in_a_body() {
    let mut knobs = Knobs::default();
    knobs.http.body_piece = 3_000;
    knobs.http.body_every = Duration::from_millis(230);
    let (id, trips) = first(&Scene::new(knobs).probe("h1+tls1.3", "/bytes/12000"));
    assert_eq!(id, "body-stalls");
    assert!((6.0..8.0).contains(&trips), "{trips}");
}

#[test]
fn a_receive_window_that_does_not_grow() {
    let path = Path::builder().rtt(RTT).build().unwrap();
    if path
        .client()
        .sysctl("net.ipv4.tcp_rmem", "4096 16384 16384")
        .is_err()
    {
        return;
    }
    let scene = Scene::over(path, Knobs::default());
    let exchange = scene.probe("h1+clear", "/bytes/100000");
    let (id, trips) = first(&exchange);
    assert_eq!(id, "receive-window", "{:?}", exchange.findings);
    assert!(trips >= 5.0, "{trips}");
}

/// In rare cases, all samples of an exchange are equal by chance and its answer is late.
#[test]
fn a_path_that_varies_is_not_blamed_on_the_server() {
    let scene = over(&[("jitter", "30ms")]);
    let (mut varies, mut accused) = (0, Vec::new());
    for _ in 0..8 {
        let exchange = scene.probe("h2+tls1.3", "/bytes/10");
        assert!(exchange.ok(), "{:?}", exchange.failure);
        let ids: Vec<&str> = exchange.findings.iter().map(|f| f.id).collect();
        let accusations = ["server-think-time", "slow-tls-server", "slow-uplink"];
        if accusations.iter().any(|id| ids.contains(id)) {
            accused.push(exchange.findings.clone());
        }
        varies += u32::from(ids.contains(&"path-varies"));
    }
    assert!(accused.len() <= 1, "{accused:?}");
    assert!(varies > 0);
}
