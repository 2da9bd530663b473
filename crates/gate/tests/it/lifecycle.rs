//! From start to shutdown: requests are served, a reload or a shutdown loses none of them, and the
//! admin server reports the truth.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod dependencies;
mod early_data;
mod hostile;
mod keys;
mod quic;
pub(crate) mod scene;
mod upgrade;

use std::time::Duration;

use crate::runtime;
use roundtrip_gate::{GateError, News};
use scene::{PATIENCE, Scene, backend};

const LOGIN: &str = "Basic c29tZWJvZHk6c2VjcmV0"; // somebody:secret

#[test]
fn a_request_of_a_session_passes_and_others_do_not() {
    let (at, _release) = backend("one");
    let scene = Scene::new(at, "");
    let field = scene.session("s1", "somebody:secret");
    let mut client = scene.client();
    let (status, why) = client.get("/", "X-Request-Id: r-1");
    assert_eq!((status, why.lines().last()), (401, Some("Request: r-1")));
    for _ in 0..3 {
        assert_eq!(client.get("/x", &field), (200, format!("one {LOGIN}")));
    }
    assert_eq!(scene.admin("/healthz").0, 200);
    assert_eq!(scene.admin("/readyz").0, 200);
    // An exchange is recorded after its answer was sent.
    assert!(eventually(|| {
        let (_, metrics) = scene.admin("/metrics");
        let counted = |class: &str, times: u32| {
            let line = format!(
                "roundtrip_gate_requests_total{{protocol=\"h1\",status=\"{class}\",outcome=\"whole\"}} {times}"
            );
            metrics.lines().any(|other| other == line)
        };
        counted("2xx", 3) && counted("4xx", 1)
    }));
}

/// How many exchanges are under way.
fn under_way(scene: &Scene) -> String {
    let (_, metrics) = scene.admin("/metrics");
    let mut lines = metrics.lines();
    lines
        .find_map(|line| line.strip_prefix("roundtrip_gate_exchanges "))
        .unwrap()
        .to_owned()
}

/// A promise: no request is dropped on a reload.
#[test]
fn a_reload_drops_no_request() {
    let ((one, release), (two, _two)) = (backend("one"), backend("two"));
    let scene = Scene::new(one, "");
    let field = scene.session("s1", "somebody:secret");
    let (mut kept, mut slow) = (scene.client(), scene.client());
    assert_eq!(kept.get("/", &field).1, format!("one {LOGIN}"));
    // An exchange is recorded after its answer was sent.
    assert!(eventually(|| under_way(&scene) == "0"));
    slow.send(&format!("GET /slow HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n"));
    // The configuration that is current when the head is read applies, not the one when it was
    // sent.
    assert!(eventually(|| under_way(&scene) == "1"));
    let next = Scene::config(&scene.folder, two, "");
    scene.gate().reload(next).unwrap();
    // Threads soon follow: then requests on the kept connection go to the other backend.
    let followed = (0..2000).any(|_| {
        let (status, body) = kept.get("/", &field);
        assert_eq!(status, 200);
        std::thread::sleep(Duration::from_millis(5));
        body.starts_with("two")
    });
    assert!(followed);
    release.send(()).unwrap();
    assert_eq!(slow.answer(), (200, format!("one {LOGIN}")));
    assert_eq!(slow.get("/", &field), (200, format!("two {LOGIN}")));
}

#[test]
fn a_configuration_that_cannot_be_served_changes_nothing() {
    let (at, _release) = backend("one");
    let scene = Scene::new(at, "");
    let mut moved = scene.config.clone();
    moved.listen.http = vec!["127.0.0.1:1".parse().unwrap()];
    let refused = scene.gate().reload(moved).unwrap_err();
    assert!(matches!(refused, GateError::NeedsRestart(_)), "{refused}");
    let mut lost = scene.config.clone();
    lost.route[0].upstream = "nowhere".into();
    assert!(scene.gate().reload(lost).is_err());
    let field = scene.session("s1", "somebody:secret");
    assert_eq!(scene.client().get("/", &field).0, 200);
}

/// A promise: a shutdown drops no request that ends within the drain time.
#[test]
fn an_end_lets_those_inside_finish() {
    let (at, release) = backend("one");
    let mut scene = Scene::new(at, "");
    let field = scene.session("s1", "somebody:secret");
    let (mut idle, mut slow) = (scene.client(), scene.client());
    assert_eq!(idle.get("/", &field).0, 200);
    assert_eq!(slow.get("/", &field).0, 200);
    slow.send(&format!("GET /slow HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n"));
    // Requests on another connection were answered, so this one is accepted.
    assert_eq!(idle.get("/", &field).0, 200);
    let gate = scene.gate.take().unwrap();
    let admin = gate.addresses().admin.unwrap();
    let draining = std::thread::spawn(move || gate.drain(PATIENCE));
    assert!(idle.is_closed(), "a connection at rest is ended");
    let mut asking = scene::Client::to(admin);
    asking.send("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!(asking.answer().0, 503);
    release.send(()).unwrap();
    assert_eq!(slow.answer(), (200, format!("one {LOGIN}")));
    assert!(slow.is_closed());
    assert_eq!(draining.join().unwrap(), 0, "nobody was cut off");
}

#[test]
fn a_client_that_does_not_finish_is_cut_off() {
    let (at, _release) = backend("one");
    let mut scene = Scene::new(at, "");
    let field = scene.session("s1", "somebody:secret");
    let mut slow = scene.client();
    assert_eq!(slow.get("/", &field).0, 200);
    slow.send(&format!("GET /slow HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n"));
    let gate = scene.gate.take().unwrap();
    assert_eq!(gate.drain(Duration::from_millis(300)), 1);
    assert_eq!(slow.answer(), (0, String::new()));
}

/// A promise: a revoked session is refused, from the next request on.
#[test]
fn a_revoked_session_is_refused() {
    let (at, _release) = backend("one");
    let scene = Scene::new(at, "");
    let field = scene.session("s1", "somebody:secret");
    let mut client = scene.client();
    assert_eq!(client.get("/", &field).0, 200);
    let runtime = runtime();
    let manager = roundtrip_gate::manage::SessionManager::open(&scene.config).unwrap();
    assert!(runtime.block_on(manager.revoke("s1")).unwrap());
    let refused = (0..2000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        client.get("/", &field).0 == 401
    });
    assert!(refused);
    assert_eq!(client.get("/", &field).0, 401);
}

/// The open route must not admit what one server takes for `/guarded` and another does not.
#[test]
fn no_path_goes_round_a_guard() {
    let (at, _release) = backend("one");
    let more = "auth = false\n[[route]]\npath = \"/guarded\"\nupstream = \"backend\"\n";
    let scene = Scene::new(at, more);
    let mut client = scene.client();
    for (path, status) in [
        ("/", 200),
        ("/a%20b", 200),
        ("/a//b", 200),
        ("/guarded", 401),
        ("/guarded/x", 401),
    ] {
        assert_eq!(client.get(path, "").0, status, "{path}");
    }
    for path in [
        "/%67uarded",
        "/x/../guarded",
        "/%2fguarded",
        "/.%2f/guarded",
    ] {
        assert_eq!(scene.client().get(path, "").0, 400, "{path}");
    }
}

#[test]
fn limits_are_met_and_counted() {
    let (at, _release) = backend("one");
    let scene = Scene::new(
        at,
        "[limits]\nconnections_per_client = 2\nhead = 300\nhead_time = \"1s\"\n",
    );
    let (mut first, mut second) = (scene.client(), scene.client());
    // Both connections are open once their requests are answered.
    assert_eq!((first.get("/", "").0, second.get("/", "").0), (401, 401));
    assert!(scene.client().is_closed());
    let long = format!("X-Long: {}", "x".repeat(400));
    assert_eq!(first.get("/", &long).0, 431);
    second.send("GET / HTTP/1.1\r\nHo");
    assert_eq!(second.answer().0, 408);
    // An exchange is recorded after its answer was sent.
    for name in ["connections_per_client", "head", "head_time"] {
        let met = |metrics: &str| {
            let line = format!("roundtrip_gate_limits_met_total{{limit=\"{name}\"}} 1");
            metrics.lines().any(|other| other == line)
        };
        assert!(eventually(|| met(&scene.admin("/metrics").1)), "{name}");
    }
    assert!(matches!(scene.news.try_recv(), Err(_) | Ok(News::Reloaded)));
}

/// A route may be open beside a guarded one: what a backend could read in another way is refused,
/// and an operator sees why.
#[test]
fn refused_paths_are_counted_by_reason() {
    let (at, _release) = backend("one");
    let more = "[[route]]\npath = \"/open\"\nupstream = \"backend\"\nauth = false\n";
    let scene = Scene::new(at, more);
    let ask = |path: &str| scene.client().get(path, "").0;
    assert_eq!((ask("/open/x"), ask("/guarded")), (200, 401));
    for (path, reason) in [
        ("/open/../guarded", "dot_segments"),
        ("/open;x=y", "two_ways"),
        ("/open/%00", "characters"),
    ] {
        assert_eq!(ask(path), 400, "{path}");
        let counted = |metrics: &str| {
            let labels = format!("{{by=\"refused\",reason=\"{reason}\"}} 1");
            let mut lines = metrics.lines();
            lines.any(|line| line.starts_with("roundtrip_gate_") && line.ends_with(&labels))
        };
        assert!(
            eventually(|| counted(&scene.admin("/metrics").1)),
            "{reason}"
        );
    }
}

pub(crate) fn eventually(mut so: impl FnMut() -> bool) -> bool {
    (0..2000).any(|_| {
        let is = so();
        if !is {
            std::thread::sleep(Duration::from_millis(5));
        }
        is
    })
}

/// Client, backend and gate's log use the same request ID, and each form of an error contains it.
#[test]
fn a_request_has_one_name_for_all() {
    let (at, _release) = backend("one");
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    let scene = Scene::tuned(at, "", |config| {
        config.log.access = roundtrip_gate::config::Access::File(log.clone());
    });
    let field = scene.session("s1", "somebody:secret");
    let mut client = scene.client();
    let own = format!("{field}\r\nX-Request-Id: mine-1");
    let (status, _) = client.get("/named", &own);
    assert_eq!((status, client.id()), (200, Some("mine-1".into())));
    // An unsafe ID is replaced, and the backend gets only the new one.
    for bad in ["a b", "<script>", &"a".repeat(65)] {
        let (status, heard) = client.get("/id", &format!("{field}\r\nX-Request-Id: {bad}"));
        let made = client.id().unwrap();
        assert_eq!((status, made.len()), (200, 25), "{bad}");
        assert_eq!(heard, format!("one {made}"));
    }
    let json = "X-Request-Id: mine-2\r\nAccept: application/json";
    let (_, body) = client.get("/secret?token=canary", json);
    let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&problem["reason"], &problem["request_id"]),
        (&"no_token".into(), &"mine-2".into())
    );
    let (_, page) = client.get("/secret?token=canary", "Accept: text/html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains(&client.id().unwrap()));
    assert!(!page.contains("canary") && !page.contains("/secret") && !body.contains("canary"));
    // HEAD gets the fields and no body: the next answer can be parsed.
    client.send("HEAD /secret HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.head().0, 401);
    assert_eq!(client.get("/", &field).0, 200);
    assert!(eventually(|| {
        let lines = std::fs::read_to_string(&log).unwrap_or_default();
        let of = |id: &str| lines.contains(&format!("\"request\":\"{id}\""));
        of("mine-1") && of("mine-2")
    }));
}
