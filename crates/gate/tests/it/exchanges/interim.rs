//! Interim answers: a backend may send as many as it needs (RFC 9110 §15.2), and a hostile one is
//! stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roundtrip_gate::config::Span;

use crate::exchanges::backend::Backend;
use crate::exchanges::raw_client::{RawClient, counted, path};
use crate::lifecycle::scene::Scene;
use crate::{runtime, until};

const PROCESSING: &str = "HTTP/1.1 102 Processing\r\n\r\n";

/// Sends as many interim answers as the path says, then the final answer.
fn processing(mut client: RawClient) {
    while let Some(request) = client.request() {
        let count: usize = path(&request.head)[1..].parse().unwrap();
        for _ in 0..count {
            if !client.send(PROCESSING) {
                return;
            }
        }
        if !client.send(&counted("done")) {
            return;
        }
    }
}

#[test]
fn any_number_of_interim_answers_is_passed_on() {
    let backend = Backend::start(processing);
    let scene = Scene::tuned(backend.at, "", |config| config.route[0].auth = false);
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    for count in [0, 1, 60, 300, 33] {
        client.send(&format!("GET /{count} HTTP/1.1\r\nHost: a\r\n\r\n"));
        for seen in 0..count {
            let head = client.head();
            let head = head.unwrap_or_else(|| panic!("of {count} it was cut behind {seen}"));
            assert!(head.starts_with("HTTP/1.1 102 "), "{head}");
        }
        assert_eq!(client.answer().whole(200).body, "done", "behind {count}");
    }
    // A client that does not know interim answers gets only the final one. RFC 9110 §15.2.
    let mut old = RawClient::to(scene.gate().addresses().http[0]);
    old.send("GET /60 HTTP/1.0\r\nHost: a\r\n\r\n");
    let head = old.head().unwrap();
    assert!(head.contains(" 200 "), "{head}");
    assert_eq!(old.rest().0, "done");
}

/// Sends interim answers for as long as gate takes them, up to this many bytes; returns whether it
/// was cut off before.
fn endless(most: usize, pause: std::time::Duration) -> (Backend, Arc<AtomicBool>) {
    let cut = Arc::new(AtomicBool::new(false));
    let known = cut.clone();
    let piece = if pause.is_zero() {
        PROCESSING.repeat(600)
    } else {
        PROCESSING.to_owned()
    };
    let backend = Backend::start(move |mut client| {
        let _ = client.request();
        let mut sent = 0;
        while sent < most {
            if !client.send(&piece) {
                known.store(true, Ordering::SeqCst);
                return;
            }
            sent += piece.len();
            std::thread::sleep(pause);
        }
    });
    (backend, cut)
}

#[test]
fn interim_answers_without_end_are_bounded_by_their_bytes() {
    let (backend, cut) = endless(64 << 20, std::time::Duration::ZERO);
    let scene = Scene::tuned(backend.at, "", |config| config.route[0].auth = false);
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ends(&mut client, &cut);
}

#[test]
fn interim_answers_without_end_are_bounded_by_time() {
    let pause = std::time::Duration::from_millis(10);
    // They would take a minute.
    let (backend, cut) = endless(6000 * PROCESSING.len(), pause);
    let scene = Scene::tuned(backend.at, "", |config| {
        config.route[0].auth = false;
        let upstream = config.upstream.get_mut("backend").unwrap();
        upstream.first_byte = Span::seconds(1);
        upstream.total = Span::seconds(2);
    });
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ends(&mut client, &cut);
}

/// No other limit ends them within an hour.
#[test]
fn interim_answers_without_end_are_bounded_by_their_own_time() {
    let pause = std::time::Duration::from_millis(10);
    // They would take a minute.
    let (backend, cut) = endless(6000 * PROCESSING.len(), pause);
    let scene = Scene::tuned(backend.at, "", |config| {
        config.route[0].auth = false;
        let upstream = config.upstream.get_mut("backend").unwrap();
        upstream.first_byte = Span::seconds(3600);
        upstream.silence = Span::seconds(3600);
        upstream.total = Span::seconds(0);
        upstream.interim = Span::seconds(1);
    });
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ends(&mut client, &cut);
}

/// The client gets an error of some kind, and the backend is cut off.
fn ends(client: &mut RawClient, cut: &AtomicBool) {
    while client
        .head()
        .is_some_and(|head| head.starts_with("HTTP/1.1 102 "))
    {}
    let runtime = runtime();
    runtime.block_on(until("the backend is cut off", async || {
        cut.load(Ordering::SeqCst)
    }));
}
