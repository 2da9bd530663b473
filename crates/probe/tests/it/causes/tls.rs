//! Handshakes and records that wait.

use std::time::Duration;

use roundtrip_model::Target;
use roundtrip_origin::{EarlyData, Knobs};
use roundtrip_path::Path;
use roundtrip_probe::{ConnectionUse, Options};

use super::{assert_named, trip};
use crate::peer::{hesitating, tunnelling};
use crate::scene::{RTT, Scene};

#[test]
fn a_server_that_is_slow_to_answer_the_hello() {
    let scene = Scene::new(Knobs::default());
    let late = hesitating(&scene, scene.origin.https, Duration::from_millis(180));
    let options = scene.trusting(Options {
        strategy: "h1+tls1.3".parse().unwrap(),
        ..Options::default()
    });
    let target = Target::parse(&format!("https://{late}/bytes/10")).unwrap();
    let exchange = scene.ask(1, options, target).remove(0);
    assert_named(&exchange, "slow-tls-server", 180.0, 0);
}

#[test]
fn a_library_that_computes_before_the_hello() {
    let scene = Scene::new(Knobs::default());
    let options = Options {
        strategy: "h1+tls1.3".parse().unwrap(),
        hello_delay: Duration::from_millis(150),
        ..Options::default()
    };
    let exchange = scene.probe_times(1, options, "/bytes/10").remove(0);
    assert_named(&exchange, "slow-client-library", 150.0, 0);
}

#[test]
fn early_data_that_came_too_early() {
    let mut knobs = Knobs::default();
    knobs.tls.early_data = EarlyData::TooEarly;
    let sequence =
        Scene::new(knobs).sequence("h1+tls1.3+0rtt", &["/bytes/10"], ConnectionUse::Each);
    assert_named(&sequence.hops[0][0], "too-early", trip(), 1);
}

#[test]
fn a_tunnel_that_has_to_be_opened_first() {
    let scene = Scene::new(Knobs::default());
    let proxy = tunnelling(&scene, scene.origin.https);
    let options = Options {
        strategy: "h1+tls1.3".parse().unwrap(),
        proxy: Some(format!("http://{proxy}").parse().unwrap()),
        ..Options::default()
    };
    let exchange = scene.probe_times(1, options, "/bytes/10").remove(0);
    assert!(exchange.ok(), "{:?}", exchange.failure);
    assert_named(&exchange, "proxy-connect", trip(), 1);
}

#[test]
fn a_record_that_is_larger_than_the_window() {
    let mut knobs = Knobs::default();
    knobs.http.header_bytes = 18_000;
    // With small segments, ten of them hold less than a record.
    let path = Path::builder().rtt(RTT).mtu(1280).build().unwrap();
    let scene = Scene::over(path, knobs);
    let exchange = scene.probe("h1+tls1.3+resume", "/bytes/10");
    assert_named(&exchange, "record-over-window", trip(), 1);
}

fn with_a_hole() -> Scene {
    let mut path = Path::builder().rtt(RTT);
    path.set("hole", "up:1400,silent").unwrap();
    Scene::over(path.build().unwrap(), Knobs::default())
}

#[test]
fn a_hello_of_two_segments_that_never_arrives() {
    let scene = with_a_hole();
    let options = Options {
        strategy: "h1+tls1.3".parse().unwrap(),
        connect_timeout: Duration::from_secs(3),
        ..Options::default()
    };
    let exchange = scene.probe_times(1, options, "/bytes/10").remove(0);
    assert!(!exchange.ok());
    let first = exchange.findings.first().map(|f| f.id);
    assert_eq!(first, Some("large-hello-lost"), "{:?}", exchange.phases());
    // A smaller hello arrives.
    assert!(scene.probe("h1+tls1.3-pq", "/bytes/10").ok());
}

#[test]
fn a_path_that_drops_large_segments() {
    let scene = with_a_hole();
    let client = scene.path.client();
    client.sysctl("net.ipv4.tcp_mtu_probing", "1").unwrap();
    let exchange = scene.probe("h1+tls1.3", "/bytes/10");
    assert!(exchange.ok(), "{:?}", exchange.failure);
    let lost: f64 = exchange.phases().iter().map(|p| p.waited.loss).sum();
    assert!(lost > 500.0, "{:?}", exchange.phases());
    assert_named(&exchange, "mtu-black-hole", lost, 0);
}
