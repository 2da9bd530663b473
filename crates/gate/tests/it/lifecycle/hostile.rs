//! Clients over QUIC that hold the keys and break rules, or do less than they should.

#[path = "../../../../quic/tests/world/key_holder.rs"]
#[allow(dead_code)] // other tests need more of it
mod key_holder;
#[path = "../../../../../tests/quic_cases.rs"]
mod quic_cases;
#[path = "../../../../../tests/quic_client.rs"]
#[allow(dead_code)] // other tests need more of it
mod quic_client;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use roundtrip_wire::quic::Frame;

use super::eventually;
use super::quic::{Caller, EARLY, counted, run, scene};
use super::scene::{Scene, backend};
use key_holder::HANDSHAKE;
use quic_client::{Close, RawClient, written};

/// H3_EXCESSIVE_LOAD, which packets of the handshake hide. RFC 9000 §10.2.3.
const EXCESSIVE_LOAD: [Close; 2] = [(0x107, true), (0x0c, false)];

#[test]
fn what_no_client_may_send_ends_its_connection_with_the_code_of_the_rule() {
    let (at, _release) = backend("one");
    let scene = scene(at, "");
    let (wrong, count) = quic_cases::play(scene.gate().addresses().https[0]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50);
    run(async { assert_eq!(Caller::new(&scene).ask("/").await.1, 401) });
}

/// A packet of the handshake proves the address; the rest of it never comes.
#[test]
fn half_handshakes_take_places_once_the_address_is_proved() {
    let (at, _release) = backend("one");
    for more in ["", EARLY] {
        let limits = "[limits]\nconnections_per_client = 2\nhead_time = \"1h\"\n";
        let scene = scene(at, &format!("{more}{limits}"));
        let to = scene.gate().addresses().https[0];
        let mut all: Vec<RawClient> = (0..5).map(|_| RawClient::new(to)).collect();
        for client in &mut all {
            client.half();
        }
        for client in &mut all {
            client.send(HANDSHAKE, &written(&[Frame::Ping]));
        }
        let line = "roundtrip_gate_limits_met_total{limit=\"connections_per_client\"} 3";
        assert!(eventually(|| counted(&scene, line)), "{more}");
        for client in &mut all {
            client.hear(Duration::from_millis(100));
            let is_refused = |close| EXCESSIVE_LOAD.contains(&close);
            assert!(client.closed.is_none_or(is_refused));
        }
    }
}

/// Also where early data is taken, so that a front may be there already.
#[test]
fn a_handshake_that_is_not_completed_ends_after_the_head_time() {
    let (at, _release) = backend("one");
    for more in ["", EARLY] {
        let scene = scene(at, &format!("{more}[limits]\nhead_time = \"300ms\"\n"));
        let mut client = half(scene.gate().addresses().https[0]);
        while client.closed.is_none() {
            // A client that acknowledges nothing would be disconnected for that.
            for packet in client.hear(Duration::from_millis(100)) {
                client.acknowledge(&packet);
            }
            client.send(HANDSHAKE, &written(&[Frame::Ping]));
        }
        let close = client.closed.unwrap();
        assert!(EXCESSIVE_LOAD.contains(&close), "{close:x?}");
        let line = "roundtrip_gate_limits_met_total{limit=\"head_time\"} 1";
        assert!(eventually(|| counted(&scene, line)), "{more}");
    }
}

/// Each client opens all streams that it may, and leaves a hole in each. RFC 9000 §21.6.
#[test]
fn data_sent_ahead_is_bounded_and_others_are_served() {
    const SHARE: u64 = 128 << 20;
    let (at, _release) = backend("one");
    let more = "[limits]\nconnections_per_client = 1000\n";
    let scene = Scene::tuned(at, more, |config| {
        config.listen.https = vec![(Ipv4Addr::LOCALHOST, 0).into()];
        config.listen.h3 = true;
        config.listen.threads = 1;
    });
    let to = scene.gate().addresses().https[0];
    let mut all: Vec<RawClient> = Vec::new();
    let mut granted = Vec::new();
    for _ in 0..250 {
        let mut client = RawClient::connected(to);
        let limits = client.peer.limits();
        granted.push((limits.initial_max_data, limits.initial_max_streams_bidi));
        client.say(&[Frame::Stream {
            id: 4 * (limits.initial_max_streams_bidi - 1),
            offset: limits.initial_max_data - 1,
            data: b"x",
            fin: false,
        }]);
        all.push(client);
    }
    // Later clients are granted less.
    let (first, last) = (granted[0], granted[249]);
    assert_eq!(first, (1 << 20, 128));
    assert!(last.0 < first.0 && last.1 < first.1, "{last:?}");
    let told = |start: &str| {
        let (_, metrics) = scene.admin("/metrics");
        let mut lines = metrics.lines();
        let value = lines.find_map(|line| line.strip_prefix(start));
        value.and_then(|value| value.trim().parse::<f64>().ok())
    };
    let evicted = "roundtrip_gate_limits_met_total{limit=\"quic_memory\"}";
    let used = || told("roundtrip_gate_quic_memory_bytes").unwrap();
    assert!(eventually(|| used() > SHARE as f64 / 2.0), "{}", used());
    assert!(used() <= SHARE as f64, "{}", used());
    run(async { assert_eq!(Caller::new(&scene).ask("/").await.1, 401) });
    // No connection was evicted.
    assert_eq!(told(evicted), Some(0.0));
    for client in &mut all {
        while client.closed.is_none() && !client.hear(Duration::from_millis(1)).is_empty() {}
        assert_eq!(client.closed, None);
    }
}

fn half(to: SocketAddr) -> RawClient {
    let mut client = RawClient::new(to);
    client.half();
    client.send(HANDSHAKE, &written(&[Frame::Ping]));
    client
}
