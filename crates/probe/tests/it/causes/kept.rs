//! Connections that should have been kept open.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use roundtrip_model::{Exchange, Target};
use roundtrip_origin::Knobs;
use roundtrip_probe::Options;

use super::{assert_named, probe_with, trip};
use crate::peer::{peer, read_head};
use crate::scene::Scene;

fn options(word: &str) -> Options {
    Options {
        strategy: word.parse().unwrap(),
        ..Options::default()
    }
}

#[test]
fn a_server_that_keeps_none() {
    let exchange = probe_with(|k| k.http.close_after = Some(1), "h1+tls1.3+reuse");
    assert_named(&exchange, "no-keep-alive", 2.0 * trip(), 2);
    // A client that opens a connection for each request on purpose gets no finding.
    let scene = Scene::new({
        let mut knobs = Knobs::default();
        knobs.http.close_after = Some(1);
        knobs
    });
    let runs = scene.probe_times(2, options("h1+clear"), "/bytes/10");
    assert!(runs.iter().all(|e| e.not_kept.is_none()), "{runs:?}");
}

/// Two requests with a pause between them; returns the second exchange.
fn after_a_pause(scene: &Scene, target: Target, word: &str) -> Exchange {
    let pause = Duration::from_millis(1_500);
    let options = scene.trusting(options(word));
    scene.ask_pausing(2, options, target, pause).remove(1)
}

#[test]
fn a_server_with_a_short_idle_time_out() {
    let mut knobs = Knobs::default();
    knobs.http.keep_alive = Duration::from_millis(600);
    let scene = Scene::new(knobs);
    for (word, trips) in [("h1+clear+reuse", 1), ("h1+tls1.3+reuse", 2)] {
        let target = scene.target(word.parse().unwrap(), "/bytes/10");
        let exchange = after_a_pause(&scene, target, word);
        let cost = f64::from(trips) * trip();
        assert_named(&exchange, "idle-connection-closed", cost, trips);
    }
}

#[test]
fn a_request_that_meets_the_connection_s_end() {
    let scene = Scene::new(Knobs::default());
    let is_first = AtomicBool::new(true);
    let faulty = peer(&scene, move |mut stream| {
        // The first connection has one answer, and ends at the second request.
        let once = is_first.swap(false, Ordering::Relaxed);
        while read_head(&stream).is_some() {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            if stream.write_all(answer).is_err() || (once && read_head(&stream).is_some()) {
                return;
            }
        }
    });
    let target = Target::parse(&format!("http://{faulty}/")).unwrap();
    let exchange = scene.ask(1, options("h1+clear+reuse"), target).remove(0);
    assert!(exchange.ok(), "{:?}", exchange.failure);
    assert_named(&exchange, "reuse-race", 2.0 * trip(), 1);
}
