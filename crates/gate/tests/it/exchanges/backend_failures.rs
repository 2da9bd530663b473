//! Backends that are killed, slow, or silent: what the client gets, and that gate recovers when
//! they do.

use std::time::Duration;

use roundtrip_gate::config::{Config, Span};

use crate::exchanges::backend::{Backend, echo};
use crate::exchanges::raw_client::{Answer, RawClient, path};
use crate::lifecycle::scene::{PATIENCE, Scene};
use crate::unanswered::Unanswered;

/// Makes the route public.
fn open(config: &mut Config) {
    config.route[0].auth = false;
}

fn get(client: &mut RawClient, path: &str) -> Answer {
    client.send(&format!("GET {path} HTTP/1.1\r\nHost: a.example\r\n\r\n"));
    client.answer()
}

#[test]
fn a_backend_that_was_killed_is_a_502_and_is_asked_again_when_it_is_back() {
    let backend = Backend::start(echo);
    let at = backend.at;
    let scene = Scene::tuned(at, "", |config| {
        open(config);
        let upstream = config.upstream.get_mut("backend").unwrap();
        upstream.eject_for = Span::seconds(1);
    });
    let gate = scene.gate().addresses().http[0];
    let mut client = RawClient::to(gate);
    assert_eq!(get(&mut client, "/a").whole(200).body, "/a ");
    backend.kill();
    for _ in 0..20 {
        assert_eq!(get(&mut RawClient::to(gate), "/b").status(), 502);
    }
    let backend = Backend::at(at, echo);
    let mut again = false;
    for _ in 0..PATIENCE.as_millis() / 10 {
        match get(&mut RawClient::to(gate), "/c") {
            Answer::Whole(200, message) => {
                assert_eq!(message.body, "/c ");
                again = true;
                break;
            }
            other => assert!(matches!(other.status(), 502 | 503), "{other:?}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(again, "it is back, and nobody asks it");
    assert!(backend.connections() > 0);
}

/// The path of a request decides: `/good` is answered.
fn moody(mut client: RawClient) {
    while let Some(request) = client.request() {
        let begun = match path(&request.head) {
            "/good" => {
                client.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                continue;
            }
            "/counted" => "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
            "/chunked" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "/endless" => "HTTP/1.1 200 OK\r\n\r\nhello",
            "/half" => "HTTP/1.1 200 OK\r\nCont",
            _ => "",
        };
        client.send(begun);
        // Sends nothing more until gate gives up.
        let _ = client.rest();
        return;
    }
}

fn moody_scene() -> Scene {
    Scene::tuned(Backend::start(moody).at, "", |config| {
        open(config);
        let upstream = config.upstream.get_mut("backend").unwrap();
        upstream.first_byte = Span::seconds(1);
        upstream.silence = Span::seconds(1);
    })
}

#[test]
fn a_backend_that_accepts_no_connection_in_time_is_a_504() {
    let backend = Unanswered::new();
    let scene = Scene::tuned(backend.address, "", |config| {
        open(config);
        let upstream = config.upstream.get_mut("backend").unwrap();
        upstream.connect = Span::seconds(1);
    });
    let said = get(&mut RawClient::to(scene.gate().addresses().http[0]), "/");
    assert!(said.whole(504).body.contains("Reason: unreachable\n"));
    let row = "requests_total{protocol=\"h1\",status=\"5xx\",outcome=\"timed_out\"} 1";
    // It is counted after the answer has been sent.
    let is_counted = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        scene.admin("/metrics").1.contains(row)
    });
    assert!(is_counted, "{}", scene.admin("/metrics").1);
}

#[test]
fn a_backend_that_does_not_begin_to_answer_in_time_is_a_504() {
    let scene = moody_scene();
    let gate = scene.gate().addresses().http[0];
    for path in ["/slow", "/half"] {
        let mut client = RawClient::to(gate);
        assert_eq!(get(&mut client, "/good").status(), 200);
        assert_eq!(get(&mut client, path).status(), 504, "{path}");
        assert_eq!(get(&mut RawClient::to(gate), "/good").status(), 200);
    }
}

#[test]
fn a_backend_that_falls_silent_amid_its_answer_leaves_no_whole_one() {
    let scene = moody_scene();
    let gate = scene.gate().addresses().http[0];
    for path in ["/counted", "/chunked", "/endless"] {
        let mut client = RawClient::to(gate);
        assert_eq!(get(&mut client, path), Answer::Cut, "{path}");
        assert_eq!(get(&mut RawClient::to(gate), "/good").status(), 200);
    }
}

#[test]
fn an_exchange_has_no_more_than_its_total_time() {
    // Each piece comes in time, but the answer never ends.
    let backend = Backend::start(|mut client| {
        let _ = client.request();
        client.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while client.send("1\r\n.\r\n") {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let scene = Scene::tuned(backend.at, "", |config| {
        open(config);
        let upstream = config.upstream.get_mut("backend").unwrap();
        upstream.total = Span::seconds(1);
    });
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    assert_eq!(get(&mut client, "/"), Answer::Cut);
}

/// RFC 1945 §7.2.2: an HTTP/1.0 client sees the connection end, and must see that the answer is
/// incomplete.
#[test]
fn an_answer_to_http_1_0_that_is_cut_ends_with_a_reset() {
    let backend = Backend::start(|mut client| {
        let _ = client.request();
        client.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    });
    let scene = Scene::tuned(backend.at, "", open);
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    client.send("GET / HTTP/1.0\r\n\r\n");
    let (said, whole) = client.rest();
    assert!(!whole, "{said}");
}
