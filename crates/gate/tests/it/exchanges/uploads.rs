//! Request bodies: with 100 Continue, refused before they are complete, and answered early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use roundtrip_gate::config::{Bytes, Span};

use crate::exchanges::backend::{Backend, echo};
use crate::exchanges::raw_client::{Answer, RawClient, counted, field, path};
use crate::lifecycle::scene::Scene;

/// Larger than the sockets' buffers.
const LARGE: usize = 16 << 20;

/// Sends a large body for as long as it is taken, and reads the answer meanwhile. Returns whether
/// all of it was taken.
fn upload(scene: &Scene) -> (Answer, bool) {
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    let mut writing = RawClient::new(client.stream.try_clone().unwrap());
    let head = format!("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: {LARGE}\r\n\r\n");
    let writer = thread::spawn(move || {
        let piece = "x".repeat(64 * 1024);
        writing.send(&head) && (0..LARGE / piece.len()).all(|_| writing.send(&piece))
    });
    let answer = client.answer();
    (answer, writer.join().unwrap())
}

/// RFC 9112 §9.6: some clients read the answer only after sending everything, and some systems
/// discard it when a reset follows.
#[test]
fn a_client_that_is_refused_during_an_upload_is_not_cut_off() {
    let backend = Backend::start(echo);
    let scene = Scene::tuned(backend.at, "", |_| ());
    for _ in 0..10 {
        let (answer, taken) = upload(&scene);
        assert_eq!((answer.status(), taken), (401, true));
    }
    let scene = Scene::tuned(backend.at, "", |config| {
        config.route[0].auth = false;
        config.limits.body = Bytes(1 << 20);
    });
    for _ in 0..10 {
        let (answer, taken) = upload(&scene);
        assert_eq!((answer.status(), taken), (413, true));
    }
}

/// The backend answers at once, and does not wait for the rest.
#[test]
fn an_early_answer_of_a_backend_that_then_closes_is_passed_on() {
    let backend = Backend::start(|mut client| {
        let head = client.head().unwrap();
        assert_eq!(path(&head), "/upload");
        let _ = client.exactly(1000);
        client.send(
            "HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmine",
        );
        client.finish_writing();
        // Servers that want their answer to be read do this too.
        let _ = client.exactly(1 << 20);
    });
    let scene = Scene::tuned(backend.at, "", |config| config.route[0].auth = false);
    for _ in 0..10 {
        assert_eq!(upload(&scene).0.whole(413).body, "mine");
    }
}

/// The backend closes with unread data, and so with a reset. Its answer must not be lost.
#[test]
fn an_early_answer_of_a_backend_that_closes_at_once_is_passed_on() {
    let backend = Backend::start(|mut client| {
        let _ = client.head();
        client.send(
            "HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmine",
        );
    });
    let scene = Scene::tuned(backend.at, "", |config| config.route[0].auth = false);
    for _ in 0..100 {
        assert_eq!(upload(&scene).0.whole(413).body, "mine");
    }
}

/// The whole request waits to be sent when the backend answers.
#[test]
fn an_early_answer_to_a_body_that_was_read_ahead_is_passed_on() {
    let backend = Backend::start(|mut client| {
        let _ = client.head();
        client.send(
            "HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmine",
        );
    });
    let scene = Scene::tuned(backend.at, "", |config| {
        config.route[0].auth = false;
        let much = Bytes(2 * LARGE as u64);
        config.limits.body_ahead = much;
        config.limits.buffered = much;
        config.limits.buffered_per_client = much;
    });
    for _ in 0..10 {
        assert_eq!(upload(&scene).0.whole(413).body, "mine");
    }
}

#[test]
fn a_backend_that_takes_nothing_is_a_504() {
    let backend = Backend::start(|mut client| {
        let _ = client.head();
        thread::park();
    });
    let scene = Scene::tuned(backend.at, "", |config| {
        config.route[0].auth = false;
        config.upstream.get_mut("backend").unwrap().silence = Span::seconds(1);
    });
    assert_eq!(upload(&scene).0.status(), 504);
}

#[test]
fn a_body_is_not_sent_before_the_backend_wants_it() {
    let wanted = Arc::new(AtomicBool::new(false));
    let known = wanted.clone();
    let backend = Backend::start(move |mut client| {
        while let Some(head) = client.head() {
            assert_eq!(field(&head, "expect"), Some("100-continue"));
            if path(&head) == "/unwanted" {
                client.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                return;
            }
            known.store(true, Ordering::SeqCst);
            client.send("HTTP/1.1 100 Continue\r\n\r\n");
            let Some(body) = client.body(&head) else {
                return;
            };
            client.send(&counted(&body));
        }
    });
    let scene = Scene::tuned(backend.at, "", |config| config.route[0].auth = false);
    let gate = scene.gate().addresses().http[0];
    let ask = |client: &mut RawClient, path: &str| {
        client.send(&format!(
            "PUT {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
        ));
    };
    let mut client = RawClient::to(gate);
    for _ in 0..3 {
        wanted.store(false, Ordering::SeqCst);
        ask(&mut client, "/wanted");
        assert!(client.head().unwrap().starts_with("HTTP/1.1 100 "));
        assert!(wanted.load(Ordering::SeqCst), "gate said it by itself");
        client.send("hello");
        assert_eq!(client.answer().whole(200).body, "hello");
    }
    ask(&mut client, "/unwanted");
    assert_eq!(client.answer().status(), 417);
    // The body that was never sent would be taken for a request.
    assert_eq!(client.answer(), Answer::Nothing);
    // Without a session, the client is answered without the backend.
    let scene = Scene::new(backend.at, "");
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    let before = backend.connections();
    ask(&mut client, "/wanted");
    assert_eq!(client.answer().status(), 401);
    assert_eq!(backend.connections(), before);
}
