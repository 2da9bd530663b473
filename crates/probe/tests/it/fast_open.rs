//! Fast open is judged by the time that it saved, not by a flag.

use roundtrip_model::{Exchange, FastOpenFacts, Target};
use roundtrip_origin::Knobs;
use roundtrip_path::Path;
use roundtrip_probe::Options;

use crate::scene::{RTT, Scene, assert_trips};

fn facts(exchange: &Exchange) -> &FastOpenFacts {
    &exchange.tcp.as_ref().unwrap().fast_open
}

#[test]
fn the_first_fetches_a_cookie_and_the_second_saves_a_round_trip() {
    let scene = Scene::new(Knobs::default());
    let options = Options {
        strategy: "h1+clear+tfo".parse().unwrap(),
        cold: true,
        ..Options::default()
    };
    let runs = scene.probe_times(2, options, "/bytes/10");
    assert!(facts(&runs[0]).asked && !facts(&runs[0]).cookie);
    assert_trips(&runs[0], 2);
    let second = facts(&runs[1]);
    assert!(
        second.cookie && second.data_sent > 0 && second.data_acked == second.data_sent,
        "{second:?}"
    );
    assert_trips(&runs[1], 1);
    assert_eq!(scene.origin.stats().fast_open_accepted, 1);
}

#[test]
fn a_classical_hello_fits_the_syn_and_a_post_quantum_one_does_not() {
    let scene = Scene::new(Knobs::default());
    let classical = scene.probe("h1+tls1.3+tfo-pq", "/bytes/10");
    assert_trips(&classical, 2);
    let post_quantum = scene.probe("h1+tls1.3+tfo", "/bytes/10");
    let facts = facts(&post_quantum);
    assert!(
        facts.cookie && facts.data_acked > 1000 && facts.data_acked < facts.data_sent,
        "{facts:?}"
    );
    assert_eq!(facts.saved_round_trips, 0);
    assert_trips(&post_quantum, 3);
    assert!(
        !post_quantum.used.fast_open,
        "fast open that saved nothing does not count as used"
    );
}

#[test]
fn a_stripped_option_falls_back() {
    let path = Path::builder()
        .rtt(RTT)
        .middlebox("strip-fast-open".parse().unwrap())
        .build()
        .unwrap();
    let scene = Scene::over(path, Knobs::default());
    let exchange = scene.probe("h1+clear+tfo", "/bytes/10");
    assert!(!facts(&exchange).cookie);
    assert_trips(&exchange, 2);
}

#[test]
fn the_echo_says_hello_twice() {
    let mut knobs = Knobs::default();
    knobs.listen.echo_port = Some(0);
    let scene = Scene::new(knobs);
    let target = Target::parse(&format!("tcp://{}", scene.origin.echo.unwrap())).unwrap();
    let options = Options {
        strategy: "tcp+tfo".parse().unwrap(),
        cold: true,
        ..Options::default()
    };
    let runs = scene.ask(2, options, target);
    // The connect and two greetings; with fast open, the greetings alone.
    for (run, trips) in runs.iter().zip([3, 2]) {
        assert!(run.ok(), "{:?}", run.failure);
        let echo = run.echo.as_ref().unwrap();
        assert_eq!((echo.sent, echo.received, echo.exchanges), (12, 12, 2));
        assert_eq!(run.round_trips(), trips);
        let total = run.total().as_secs_f64() / RTT.as_secs_f64();
        assert!(
            (f64::from(trips)..f64::from(trips) + 0.9).contains(&total),
            "{total}"
        );
    }
}
