//! Routes with `buffer_request`: the backend gets nothing before the whole body has arrived.

use roundtrip_gate::config::{Bytes, Config};

use crate::exchanges::backend::Backend;
use crate::exchanges::raw_client::{Answer, RawClient, counted, field, path};
use crate::lifecycle::scene::Scene;
use crate::limits::{exchanges, soon};
use crate::readings::h2::{Connection, DATA, END_STREAM, Frame, RST_STREAM};

const MOST: usize = 1 << 20;
/// Larger than what is sent together with the head.
const LARGE: usize = 300_000;

/// Answers with the framing that it saw, and the length of the body.
fn describing() -> Backend {
    Backend::start(|mut client| {
        while let Some(request) = client.request() {
            assert_eq!(field(&request.head, "expect"), None);
            assert_eq!(field(&request.head, "trailer"), None);
            let framing = ["content-length", "transfer-encoding"];
            let framing = framing.map(|name| field(&request.head, name).unwrap_or("-").to_owned());
            let body = format!("{} {}", framing.join(" "), request.body.len());
            if !client.send(&counted(&body)) {
                return;
            }
        }
    })
}

fn scene(backend: &Backend, more: impl FnOnce(&mut Config)) -> Scene {
    Scene::tuned(backend.at, "", |config| {
        config.listen.threads = 1;
        config.listen.https = vec!["127.0.0.1:0".parse().unwrap()];
        config.route[0].auth = false;
        config.route[0].buffer_request = Bytes(MOST as u64);
        more(config);
    })
}

fn client(scene: &Scene) -> RawClient {
    RawClient::to(scene.gate().addresses().http[0])
}

fn seen(length: usize) -> String {
    format!("{length} - {length}")
}

#[test]
fn the_backend_gets_the_whole_body_with_its_length() {
    let backend = describing();
    let scene = scene(&backend, |_| {});
    let mut client = client(&scene);
    for (length, opened) in [(1, 0), (LARGE, 1), (MOST, 1)] {
        let (most, last) = ("x".repeat(length - 1), "x");
        client.send(&format!(
            "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{most}"
        ));
        assert!(soon(|| exchanges(&scene) == 1));
        assert_eq!(backend.connections(), opened);
        client.send(last);
        assert_eq!(client.answer().whole(200).body, seen(length));
        let chunk = format!("{length:x}\r\n{most}");
        client.send(&format!(
            "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: x-a\r\n\r\n{chunk}"
        ));
        assert!(soon(|| exchanges(&scene) == 1));
        client.send(&format!("{last}\r\n0\r\nx-a: b\r\n\r\n"));
        assert_eq!(client.answer().whole(200).body, seen(length));
    }
    client.send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_eq!(client.answer().whole(200).body, seen(0));
    assert_eq!(backend.connections(), 1);
}

fn fields(framing: &[(&'static str, &'static [u8])]) -> Vec<(&'static str, &'static [u8])> {
    let mut fields: Vec<(&str, &[u8])> = vec![
        (":method", b"POST"),
        (":scheme", b"https"),
        (":authority", b"a"),
        (":path", b"/a"),
    ];
    fields.extend(framing);
    fields
}

#[test]
fn a_stream_without_a_length_has_one_for_the_backend() {
    let backend = describing();
    let scene = scene(&backend, |_| {});
    let mut connection = Connection::open(&scene, &[]);
    let plain = connection.ask(&fields(&[]), false);
    let expecting = connection.ask(&fields(&[("expect", b"100-continue")]), false);
    for id in [plain, expecting] {
        connection.send(&Frame::new(DATA, 0, id, &[b'x'; 10_000]));
    }
    assert!(soon(|| exchanges(&scene) == 2));
    assert_eq!(backend.connections(), 0);
    for id in [plain, expecting] {
        connection.send(&Frame::new(DATA, END_STREAM, id, &[b'x'; 1]));
    }
    let statuses = connection.statuses(&[plain, expecting]);
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
}

#[test]
fn gate_itself_says_that_a_body_is_wanted() {
    let backend = describing();
    let scene = scene(&backend, |_| {});
    let mut client = client(&scene);
    for length in [5, LARGE] {
        client.send(&format!(
            "PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\r\n"
        ));
        assert_eq!(client.head().unwrap(), "HTTP/1.1 100 Continue\r\n\r\n");
        client.send(&"x".repeat(length));
        assert_eq!(client.answer().whole(200).body, seen(length));
    }
    // Gate does not ask for a body that is too large.
    client.send(&format!(
        "PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        MOST + 1
    ));
    assert!(client.head().unwrap().starts_with("HTTP/1.1 413 "));
}

#[test]
fn a_body_that_is_too_large_is_a_413_and_reaches_nobody() {
    let backend = describing();
    let scene = scene(&backend, |_| {});
    let counted = format!("Content-Length: {}\r\n\r\n", MOST + 1);
    let chunk = "x".repeat(MOST + 1);
    let chunked = format!(
        "Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{chunk}\r\n",
        MOST + 1
    );
    for rest in [counted, chunked] {
        let mut client = client(&scene);
        client.send(&format!("POST /a HTTP/1.1\r\nHost: a\r\n{rest}"));
        assert_eq!(client.answer().status(), 413);
    }
    assert_eq!(backend.connections(), 0);
}

#[test]
fn a_client_that_leaves_during_a_body_reaches_no_backend_and_holds_nothing() {
    let backend = describing();
    let scene = scene(&backend, |config| config.limits.buffered = Bytes(2 << 20));
    let head = format!("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: {MOST}\r\n\r\n");
    for _ in 0..3 {
        let mut leaving = client(&scene);
        leaving.send(&format!("{head}{}", "x".repeat(700_000)));
        assert!(soon(|| exchanges(&scene) == 1));
        drop(leaving);
        assert!(soon(|| exchanges(&scene) == 0));
    }
    let mut connection = Connection::open(&scene, &[]);
    let id = connection.ask(&fields(&[]), false);
    connection.send(&Frame::new(DATA, 0, id, &[b'x'; 10_000]));
    assert!(soon(|| exchanges(&scene) == 1));
    connection.send(&Frame::new(RST_STREAM, 0, id, &[0, 0, 0, 8]));
    assert!(soon(|| exchanges(&scene) == 0));
    assert_eq!(backend.connections(), 0);
    let mut whole = client(&scene);
    whole.send(&format!("{head}{}", "x".repeat(MOST)));
    assert_eq!(whole.answer().whole(200).body, seen(MOST));
}

/// Each connection serves one request, and is closed when the next one arrives.
fn closing() -> Backend {
    Backend::start(|mut client| {
        if let Some(request) = client.request() {
            client.send(&counted(path(&request.head)));
        }
        let _ = client.peek_head();
    })
}

/// A kept connection to a backend that closes it when a request arrives.
fn kept(buffers: bool) -> (Backend, Scene, RawClient) {
    let backend = closing();
    let scene = scene(&backend, |config| {
        config.upstream.get_mut("backend").unwrap().retry_budget = 100;
        if !buffers {
            config.route[0].buffer_request = Bytes(0);
        }
    });
    let mut client = client(&scene);
    client.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer().whole(200).body, "/first");
    (backend, scene, client)
}

#[test]
fn repeatable_requests_are_repeated_with_their_body() {
    for (method, status, opened) in [("PUT", 200, 2), ("POST", 502, 1)] {
        let (backend, _scene, mut client) = kept(true);
        let chunk = "x".repeat(LARGE);
        client.send(&format!(
            "{method} /again HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
             {LARGE:x}\r\n{chunk}\r\n0\r\n\r\n"
        ));
        let answer = client.answer();
        assert_eq!(answer.status(), status, "{method}");
        if status == 200 {
            assert_eq!(answer.whole(200).body, "/again");
        }
        assert_eq!(backend.connections(), opened, "{method}");
    }
}

/// The beginning of a body is kept for a while.
#[test]
fn what_may_be_sent_again_is_sent_again_while_it_arrives() {
    let head = "/again HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nfir";
    let (backend, _scene, mut client) = kept(false);
    client.send(&format!("PUT {head}"));
    assert!(soon(|| backend.connections() == 2));
    client.send("st.");
    assert_eq!(client.answer().whole(200).body, "/again");
    let (backend, _scene, mut client) = kept(false);
    client.send(&format!("POST {head}"));
    assert_eq!(client.answer().status(), 502);
    assert_eq!(backend.connections(), 1);
}

#[test]
fn an_early_answer_to_a_buffered_body_is_passed_on() {
    let backend = Backend::start(|mut client| {
        let _ = client.head();
        client.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmine");
    });
    let scene = scene(&backend, |config| {
        config.route[0].buffer_request = Bytes(32 << 20);
        config.limits.buffered_per_client = Bytes(64 << 20);
    });
    let body = "x".repeat(16 << 20);
    for _ in 0..10 {
        let mut client = client(&scene);
        client.send(&format!(
            "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert_eq!(client.answer().whole(403).body, "mine");
        assert_ne!(client.answer(), Answer::Cut);
    }
}
