//! Compares `Strategy::round_trips` with measured exchanges.

use roundtrip_model::{Http, Strategy};
use roundtrip_origin::{EarlyData, Knobs};
use roundtrip_probe::Options;

use crate::scene::{ENGINES, Scene, assert_trips};

/// The requested, used, counted and timed round trips are the same number.
fn check(scene: &Scene, word: &str) {
    let strategy: Strategy = word.parse().unwrap();
    let exchange = scene.probe(word, "/bytes/100");
    assert!(
        exchange.ok(),
        "{word}: the origin saw {:?}",
        scene.origin.stats()
    );
    assert_trips(&exchange, strategy.round_trips());
    assert_eq!(exchange.used.to_string(), word, "{:?}", exchange.notes);
    assert_eq!(exchange.primed, strategy.is_warm());
}

fn with_early_data() -> Scene {
    let mut knobs = Knobs::default();
    knobs.tls.early_data = EarlyData::On;
    Scene::new(knobs)
}

#[test]
fn cold_over_tcp() {
    let scene = Scene::new(Knobs::default());
    for word in [
        "h1+clear",
        "h1+tls1.2",
        "h1+tls1.3",
        "h2+tls1.3",
        "h2+tls1.2",
        "h2+clear",
        "h1+tls1.3-pq",
    ] {
        check(&scene, word);
    }
}

#[test]
fn resumed_over_tcp() {
    let scene = with_early_data();
    for word in ["h1+tls1.2+resume", "h1+tls1.3+resume", "h2+tls1.3+resume"] {
        check(&scene, word);
    }
}

#[test]
fn early_data_over_tcp() {
    let scene = with_early_data();
    for word in ["h1+tls1.3+0rtt", "h2+tls1.3+0rtt"] {
        check(&scene, word);
    }
    let stats = scene.origin.stats();
    assert!(stats.early_requests >= 2, "{stats:?}");
}

#[test]
fn over_quic() {
    for engine in ENGINES {
        let mut knobs = Knobs::default();
        knobs.listen.quic_engine = engine;
        knobs.tls.early_data = EarlyData::On;
        let scene = Scene::new(knobs);
        for word in ["h3", "h3+reuse"] {
            check(&scene, word);
        }
        let taken = || scene.origin.stats().quic_tokens_taken;
        assert_eq!(taken(), 0);
        for word in ["h3+resume", "h3+0rtt"] {
            check(&scene, word);
        }
        assert!(taken() > 0, "an address token goes with a ticket");
    }
}

#[test]
fn over_an_open_connection() {
    let scene = Scene::new(Knobs::default());
    for word in [
        "h1+clear+reuse",
        "h1+tls1.2+reuse",
        "h1+tls1.3+reuse",
        "h2+tls1.3+reuse",
    ] {
        check(&scene, word);
    }
}

#[test]
fn everything_saved_in_one_round_trip() {
    let scene = with_early_data();
    check(&scene, "h1+tls1.3+tfo+0rtt-pq");
    check(&scene, "h2+tls1.3+tfo+0rtt-pq");
}

#[test]
fn an_announced_h3_is_taken_the_next_time() {
    let scene = Scene::new(Knobs::default());
    let runs = scene.probe_times(2, Options::default(), "/bytes/100");
    assert_eq!(runs[0].used.http, Http::H2);
    assert_eq!(runs[1].used.http, Http::H3, "{:?}", runs[1].notes);
    assert_trips(&runs[1], 2);
}
