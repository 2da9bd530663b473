//! Answers that only lead to another request, and caches that miss.

use std::time::Duration;

use roundtrip_model::{Exchange, Target};
use roundtrip_origin::Knobs;
use roundtrip_probe::Options;

use super::{assert_named, trip};
use crate::peer::answering;
use crate::scene::Scene;

const SLOW: Duration = Duration::from_millis(150);

fn ask_peer(answer: &'static str, late: Duration, change: impl FnOnce(&mut Options)) -> Exchange {
    let scene = Scene::new(Knobs::default());
    let peer = answering(&scene, late, answer);
    let mut options = Options {
        strategy: "h1+clear".parse().unwrap(),
        ..Options::default()
    };
    change(&mut options);
    let target = Target::parse(&format!("http://{peer}/")).unwrap();
    scene.ask(1, options, target).remove(0)
}

#[test]
fn redirects() {
    let scene = Scene::new(Knobs::default());
    // The connection stays in use, so only the request and its answer were wasted.
    for word in ["h1+tls1.3", "h2+tls1.3", "h3"] {
        assert_named(&scene.probe(word, "/redirect/1"), "redirect", trip(), 1);
    }
    let exchange = scene.probe("h1+clear", "/secure");
    assert_named(&exchange, "redirect-to-https", 2.0 * trip(), 2);
}

#[test]
fn followed_redirects_are_reported_hop_by_hop() {
    let scene = Scene::new(Knobs::default());
    let options = Options {
        strategy: "h1+clear".parse().unwrap(),
        follow: true,
        ..Options::default()
    };
    let last = scene.probe_times(1, options, "/redirect/2").remove(0);
    assert_eq!(last.hop, 2);
    assert_eq!(last.findings, [], "{:?}", last.phases());
}

#[test]
fn challenges() {
    let scene = Scene::new(Knobs::default());
    let exchange = scene.probe("h1+tls1.3", "/auth");
    assert_named(&exchange, "auth-challenge", trip(), 1);
    let options = Options {
        strategy: "h1+tls1.3".parse().unwrap(),
        user: Some(("user".into(), "secret".into())),
        ..Options::default()
    };
    let spared = scene.probe_times(1, options, "/auth").remove(0);
    assert!(spared.findings.iter().all(|f| f.id != "auth-challenge"));
}

#[test]
fn preflights() {
    let answer = "HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: *\r\n\
                  Access-Control-Allow-Methods: PUT\r\n\r\n";
    let exchange = ask_peer(answer, Duration::ZERO, |options| {
        options.method = Some("OPTIONS".into());
        let header = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        options.headers.push(header("Origin", "https://a.example"));
        options
            .headers
            .push(header("Access-Control-Request-Method", "PUT"));
    });
    assert_named(&exchange, "cors-preflight", trip(), 1);
}

#[test]
fn a_cache_that_had_to_ask_its_origin() {
    let answer = "HTTP/1.1 200 OK\r\nCache-Status: edge; fwd=miss\r\nContent-Length: 2\r\n\r\nok";
    let exchange = ask_peer(answer, SLOW, |_| ());
    assert_named(&exchange, "cache-miss", 150.0, 0);
    let answer = "HTTP/1.1 200 OK\r\nCache-Status: edge; hit\r\nContent-Length: 2\r\n\r\nok";
    let exchange = ask_peer(answer, SLOW, |_| ());
    assert_named(&exchange, "server-think-time", 150.0, 0);
}
