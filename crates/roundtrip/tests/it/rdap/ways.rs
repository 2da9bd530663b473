//! How many connections there are, and which requests wait for others: counted by the server.

use std::time::Duration;

use crate::rdap::scene::{Scene, documents};

const NAMES: [&str; 6] = [
    "a.example",
    "b.example",
    "c.example",
    "d.example",
    "e.example",
    "f.example",
];

fn run(scene: &Scene, flags: &[&str]) -> Vec<serde_json::Value> {
    let said = scene.run(&[&["--json", "--timing", "--no-follow"], flags, &NAMES[..]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    documents(&said.out)
}

fn timings<'a>(
    documents: &'a [serde_json::Value],
    fact: &'a str,
) -> impl Iterator<Item = bool> + 'a {
    documents
        .iter()
        .map(move |document| document["timing"][0][fact].as_bool().unwrap())
}

#[test]
fn many_share_one_connection() {
    let scene = Scene::new();
    run(&scene, &["--strategy", "h2+tls1.3+resume"]);
    let stats = scene.stats();
    assert_eq!((stats.tcp_connections, stats.h2_requests), (1, 6));
}

#[test]
fn one_after_another_goes_over_one_connection_in_order() {
    let scene = Scene::new();
    let told = run(&scene, &["--serial", "--strategy", "h1+tls1.3"]);
    let stats = scene.stats();
    assert_eq!((stats.tcp_connections, stats.h1_requests), (1, 6));
    assert!(told.iter().map(|d| d["query"].as_str().unwrap()).eq(NAMES));
}

#[test]
fn without_reuse_each_has_a_connection_of_its_own_and_nothing_is_resumed() {
    for word in ["h1+tls1.3", "h2+tls1.3"] {
        let scene = Scene::new();
        let told = run(&scene, &["--no-reuse", "--serial", "--strategy", word]);
        let stats = scene.stats();
        assert_eq!((stats.tcp_connections, stats.tls_resumed), (6, 0), "{word}");
        assert!(timings(&told, "reused").all(|reused| !reused));
        // A second run knows nothing of the first.
        run(&scene, &["--no-reuse", "--strategy", word]);
        assert_eq!(scene.stats().tls_resumed, 0);
        assert!(!scene.path("memory").exists());
    }
}

#[test]
fn a_server_is_asked_so_much_at_once() {
    let scene = Scene::with(|knobs| knobs.http.think = Duration::from_millis(20));
    run(
        &scene,
        &[
            "--at-once",
            "1",
            "--strategy",
            "h1+tls1.3",
            "--connections",
            "6",
        ],
    );
    assert_eq!(scene.stats().tcp_connections, 1);
    let scene = Scene::with(|knobs| knobs.http.think = Duration::from_millis(200));
    run(&scene, &["--strategy", "h1+tls1.3", "--connections", "3"]);
    assert_eq!(scene.stats().tcp_connections, 3);
}
