//! Gate's dependencies go down and come back: each change is reported in a line, and `/readyz` is
//! right, even without health checks.

use std::net::TcpListener;
use std::time::Instant;

use roundtrip_gate::News;

use crate::external_program::free_address;
use crate::lifecycle::scene::{PATIENCE, Scene, serving};
use crate::runtime;
use crate::server::Server;

fn line(scene: &Scene) -> String {
    loop {
        if let News::Condition(line) = scene.news.recv_timeout(PATIENCE).unwrap() {
            return line;
        }
    }
}

fn until_ready_is(scene: &Scene, wanted: u16) -> String {
    let began = Instant::now();
    loop {
        let (status, body) = scene.admin("/readyz");
        if status == wanted {
            return body;
        }
        assert!(began.elapsed() < PATIENCE, "{status} {body}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_backend_that_goes_and_comes_is_told_and_counts_for_readiness() {
    let at = free_address();
    let scene = Scene::new(at, "");
    let field = scene.session("s1", "somebody:secret");
    let ask = || scene.client().get("/", &field).0;
    // One failure is not enough.
    assert_eq!(ask(), 502);
    assert_eq!(scene.admin("/readyz"), (200, "ready\n".into()));
    for _ in 0..8 {
        assert_eq!(ask(), 502);
    }
    let why = until_ready_is(&scene, 503);
    assert_eq!(why, "not ready: no usable server in upstream backend\n");
    let gone = format!("upstream backend: {at} refuses connections; 0 of 1 servers left");
    assert_eq!(line(&scene), gone);
    // It is back, and there has been no request since.
    serving("one", TcpListener::bind(at).unwrap());
    until_ready_is(&scene, 200);
    let back = line(&scene);
    assert!(
        back.starts_with(&format!("upstream backend: {at} is back after ")),
        "{back}"
    );
    assert!(back.ends_with("; 1 of 1 servers left"), "{back}");
    assert_eq!(ask(), 200);
}

#[test]
fn a_store_that_goes_and_comes_is_told() {
    let runtime = runtime();
    let redis = Server::start("gate: the store goes and comes", &[]);
    let Some(mut redis) = runtime.block_on(redis) else {
        return;
    };
    let store = format!("unix:{}", redis.socket().display());
    let scene = Scene::tuned(free_address(), "", |config| config.session.store = store);
    redis.stop();
    let down = line(&scene);
    assert!(down.starts_with("store down: "), "{down}");
    assert!(
        down.ends_with("; known sessions stay valid for 30 s"),
        "{down}"
    );
    runtime.block_on(redis.start_again());
    let back = line(&scene);
    assert!(back.starts_with("store back after "), "{back}");
}
