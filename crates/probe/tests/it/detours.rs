//! Events that cost one round trip more than the arithmetic says; each is seen and counted.

use roundtrip_model::EarlyData as Taken;
use roundtrip_model::{AttemptOutcome, Event, FailureKind, PhaseName};
use roundtrip_origin::{EarlyData, Group, Knobs, Tickets};

use crate::scene::{self, ENGINES, Scene, assert_trips};

#[test]
fn hello_retry_request() {
    let mut knobs = Knobs::default();
    knobs.tls.groups = vec![Group::Secp384r1];
    let scene = Scene::new(knobs);
    for (word, trips) in [("h1+tls1.3", 4), ("h3", 3)] {
        let exchange = scene.probe(word, "/bytes/10");
        let tls = exchange.tls.as_ref().unwrap();
        assert!(tls.hello_retry && tls.group.contains("384"), "{tls:?}");
        assert_trips(&exchange, trips);
    }
}

#[test]
fn a_chain_over_the_initial_window() {
    let mut knobs = Knobs::default();
    knobs.tls.chain_bytes = 24_000;
    knobs.tls.compress_certificate = false;
    let scene = Scene::new(knobs);
    let exchange = scene.probe("h1+tls1.3", "/bytes/10");
    let chain = exchange.tls.as_ref().unwrap().chain.as_ref().unwrap();
    assert!(chain.bytes_on_wire > 20_000, "{}", chain.bytes_on_wire);
    assert_trips(&exchange, 4);
}

#[test]
fn quic_retry_and_amplification() {
    for engine in ENGINES {
        let mut knobs = Knobs::default();
        knobs.listen.quic_engine = engine;
        knobs.listen.quic_retry = true;
        let retried = Scene::new(knobs).probe("h3", "/bytes/10");
        assert!(retried.quic.as_ref().unwrap().retry);
        assert_trips(&retried, 3);

        let mut knobs = Knobs::default();
        knobs.listen.quic_engine = engine;
        knobs.tls.chain_bytes = 8_000;
        eprintln!("served by {engine:?}");
        let stalled = Scene::new(knobs).probe("h3", "/bytes/10");
        assert_trips(&stalled, 3);
    }
}

#[test]
fn refused_early_data_is_sent_again() {
    let mut knobs = Knobs::default();
    knobs.tls.early_data = EarlyData::Refused;
    let scene = Scene::new(knobs);
    for (word, trips) in [("h1+tls1.3+0rtt", 3), ("h2+tls1.3+0rtt", 3), ("h3+0rtt", 2)] {
        let exchange = scene.probe(word, "/bytes/10");
        assert_eq!(
            exchange.tls.as_ref().unwrap().early_data,
            Taken::Refused,
            "{word}"
        );
        assert_trips(&exchange, trips);
    }
}

#[test]
fn too_early_is_asked_again_over_the_same_connection() {
    let mut knobs = Knobs::default();
    knobs.tls.early_data = EarlyData::TooEarly;
    let scene = Scene::new(knobs);
    let exchange = scene.probe("h1+tls1.3+0rtt", "/bytes/10");
    assert_eq!(exchange.http.as_ref().unwrap().status, 200);
    assert_eq!(exchange.hop, 1);
    assert!(exchange.reused);
}

#[test]
fn waiting_for_100_continue() {
    let scene = Scene::new(Knobs::default());
    let options = roundtrip_probe::Options {
        strategy: "h1+clear".parse().unwrap(),
        headers: vec![("Expect".into(), "100-continue".into())],
        body: vec![b'x'; 100].into(),
        ..roundtrip_probe::Options::default()
    };
    let exchange = scene.probe_times(1, options, "/echo").remove(0);
    assert_eq!(exchange.http.as_ref().unwrap().interim, [100]);
    assert_trips(&exchange, 3);
}

#[test]
fn an_address_without_a_quic_answer() {
    let scene = Scene::new(Knobs::default());
    let alive = scene.path.server().address_v4();
    let dead = std::net::Ipv4Addr::from(u32::from(alive) + 1);
    let port = scene.origin.https.port();
    let options = scene.trusting(roundtrip_probe::Options {
        strategy: "h3".parse().unwrap(),
        overrides: vec![format!("far.test:{port}:{dead},{alive}").parse().unwrap()],
        ..roundtrip_probe::Options::default()
    });
    let url = format!("https://far.test:{port}/bytes/10");
    let target = roundtrip_model::Target::parse(&url).unwrap();
    let exchange = scene.ask(1, options, target).remove(0);
    assert!(exchange.ok(), "{:?}", exchange.failure);
    assert_eq!(exchange.used.to_string(), "h3");
    assert_eq!(exchange.attempts.len(), 2, "{:?}", exchange.attempts);
    assert_eq!(exchange.round_trips(), 2);
    let lost: f64 = exchange.phases().iter().map(|p| p.waited.loss).sum();
    assert!(lost >= 240.0, "{:?}", exchange.phases());
}

/// A refusal costs one round trip, not the time that a silent address is given.
#[test]
fn a_closed_udp_port_refuses() {
    let scene = Scene::new(Knobs::default());
    for address in [
        scene.path.server().address_v4().into(),
        std::net::IpAddr::from(scene.path.server().address_v6()),
    ] {
        let place = std::net::SocketAddr::new(address, 9);
        let options = scene.trusting(roundtrip_probe::Options {
            strategy: "h3".parse().unwrap(),
            ..roundtrip_probe::Options::default()
        });
        let target = roundtrip_model::Target::parse(&format!("https://{place}/")).unwrap();
        let exchange = scene.ask(1, options, target).remove(0);
        let failure = exchange.failure.as_ref().unwrap();
        assert_eq!(failure.kind, FailureKind::Refused, "{failure}");
        assert_eq!(failure.phase, PhaseName::Quic, "{failure}");
        assert_eq!(exchange.attempts.len(), 1);
        let refused = matches!(&exchange.attempts[0].outcome, AttemptOutcome::Failed(why) if why.contains("refused"));
        assert!(refused, "{:?}", exchange.attempts);
        let failed = |e: &Event| matches!(e, Event::AttemptFailed { .. });
        assert!(exchange.timeline.first(failed).is_some());
        assert!(exchange.total() < 5 * scene::RTT, "{:?}", exchange.total());
    }
}

#[test]
fn refused_tickets_mean_a_full_handshake() {
    let mut knobs = Knobs::default();
    knobs.tls.tickets = Tickets::Refused;
    let scene = Scene::new(knobs);
    let exchange = scene.probe("h1+tls1.3+resume", "/bytes/10");
    assert!(!exchange.tls.as_ref().unwrap().resumed);
    assert_eq!(exchange.used.to_string(), "h1+tls1.3");
    assert_trips(&exchange, 3);
}

#[test]
fn a_missing_ticket_is_reported() {
    let mut knobs = Knobs::default();
    knobs.tls.tickets = Tickets::Off;
    let scene = Scene::new(knobs);
    let exchange = scene.probe("h1+tls1.3+0rtt", "/bytes/10");
    assert!(
        exchange.notes.iter().any(|n| n.contains("ticket")),
        "{:?}",
        exchange.notes
    );
    assert_trips(&exchange, 3);
}
