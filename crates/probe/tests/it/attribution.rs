//! The party that caused each wait: network, server or loss.

use std::time::Duration;

use roundtrip_model::{Event, Phase, PhaseName};
use roundtrip_origin::{Knobs, Quic};
use roundtrip_path::{Direction, Path};
use roundtrip_probe::Options;

use crate::scene::{RTT, Scene, assert_trips};

fn phase(phases: &[Phase], name: PhaseName) -> Phase {
    *phases.iter().find(|p| p.name == name).unwrap()
}

#[test]
fn thinking_is_the_server_s() {
    let think = 300.0;
    let scene = Scene::new(Knobs::default());
    for word in ["h1+clear", "h1+tls1.3", "h2+tls1.3", "h3"] {
        let exchange = scene.probe(word, "/delay/300");
        let wait = phase(&exchange.phases(), PhaseName::FirstByte);
        assert_eq!(wait.round_trips, 1, "{word}");
        assert!(
            (think * 0.9..think * 1.3).contains(&wait.waited.server),
            "{word}: {wait:?}"
        );
        let server: f64 = exchange.phases().iter().map(|p| p.waited.server).sum();
        assert!(server < think * 1.5, "{word}: {server}");
    }
}

#[test]
fn slow_start_is_the_network_s() {
    let scene = Scene::new(Knobs::default());
    let exchange = scene.probe("h1+clear", "/bytes/100000");
    let body = phase(&exchange.phases(), PhaseName::Body);
    // 10, 20 and 40 segments: two more flights at least, unless the window opened faster.
    assert!((1..=4).contains(&body.round_trips), "{body:?}");
    assert!(body.waited.network > body.waited.server, "{body:?}");
}

#[test]
fn a_lost_syn_is_a_loss() {
    let path = Path::builder()
        .rtt(RTT)
        .drop_nth(Direction::Up, 1)
        .build()
        .unwrap();
    let scene = Scene::over(path, Knobs::default());
    let exchange = scene.probe("h1+clear", "/bytes/10");
    let tcp = exchange.tcp.as_ref().unwrap();
    assert_eq!(tcp.syn_retransmits, 1, "{tcp:?}");
    let connect = phase(&exchange.phases(), PhaseName::Tcp);
    assert_eq!(connect.round_trips, 1);
    assert!(
        connect.waited.loss > 5.0 * connect.waited.network,
        "{connect:?}"
    );
}

#[test]
fn h3_without_an_answer_loses_the_race_to_tcp() {
    let mut knobs = Knobs::default();
    knobs.listen.h3 = Quic::Silent;
    let scene = Scene::new(knobs);
    let mut options = Options::default();
    options.headers.push(("X-Round".into(), "trip".into()));
    // The first run learns of h3 from Alt-Svc, the second tries it without success.
    let runs = scene.probe_times(2, options, "/bytes/10");
    let second = &runs[1];
    assert!(second.ok(), "{:?}", second.failure);
    assert!(second.quic.is_none());
    assert!(
        second.attempts.iter().any(|a| a.over_quic),
        "{:?}",
        second.attempts
    );
    assert!(
        second.notes.iter().any(|n| n.contains("HTTP/3")),
        "{:?}",
        second.notes
    );
    assert_trips_beside_loss(second);
}

fn assert_trips_beside_loss(exchange: &roundtrip_model::Exchange) {
    let waited = exchange.phases();
    let loss: f64 = waited.iter().map(|p| p.waited.loss).sum();
    assert!(
        loss >= 250.0,
        "the head start of 300 ms must not count as waiting: {waited:?}"
    );
    assert_eq!(exchange.round_trips(), 3);
}

#[test]
fn the_cost_of_the_path_is_known_from_the_handshake() {
    let scene = Scene::new(Knobs::default());
    let exchange = scene.probe("h1+tls1.2", "/bytes/10");
    assert_trips(&exchange, 4);
    let network: f64 = exchange.phases().iter().map(|p| p.waited.network).sum();
    let expected = 4.0 * exchange.rtt.unwrap_or(Duration::ZERO).as_secs_f64() * 1e3;
    assert!(
        (expected * 0.95..expected * 1.1).contains(&network),
        "{network} of {expected}"
    );
}

/// The first byte is that of the 103, and the answer's head comes after the server's processing.
#[test]
fn an_answer_after_an_interim_response() {
    let mut knobs = Knobs::default();
    knobs.http.think = Duration::from_millis(300);
    let scene = Scene::new(knobs);
    for strategy in ["h1+tls1.3", "h2+tls1.3", "h3"] {
        let exchange = scene.probe(strategy, "/hints");
        assert!(exchange.ok(), "{strategy}: {:?}", exchange.failure);
        let http = exchange.http.as_ref().unwrap();
        assert_eq!((http.status, http.interim.as_slice()), (200, &[103][..]));
        let at = |event: Event| exchange.timeline.first(|e| *e == event).unwrap();
        let thought = at(Event::Answered).since(at(Event::FirstByte));
        assert!(
            thought >= Duration::from_millis(290),
            "{strategy}: {thought:?}"
        );
        let plain = scene.probe(strategy, "/bytes/10");
        let at = |event: Event| plain.timeline.first(|e| *e == event).unwrap();
        assert_eq!(at(Event::Answered), at(Event::FirstByte), "{strategy}");
    }
}
