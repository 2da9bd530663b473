//! Long streams: events, each passed on before the next one is sent, and bytes of another protocol;
//! both end with the session.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use roundtrip_gate::manage::SessionManager;

use crate::exchanges::backend::Backend;
use crate::exchanges::raw_client::{Answer, RawClient, field};
use crate::lifecycle::scene::Scene;
use crate::limits::gate_with;
use crate::runtime;

const ASK_TO_UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: echo\r\n";

fn revoke(scene: &Scene, sid: &str) {
    let runtime = runtime();
    let manager = SessionManager::open(&scene.config).unwrap();
    assert!(runtime.block_on(manager.revoke(sid)).unwrap());
}

/// Sends one event for each message on the returned channel.
fn eventful() -> (Backend, Sender<u32>) {
    let (tell, told): (_, Receiver<u32>) = channel();
    let told = Mutex::new(told);
    let backend = Backend::start(move |mut client| {
        let _ = client.request();
        client.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
        while let Ok(number) = told.lock().unwrap().recv() {
            let event = format!("data: {number}\n\n");
            if !client.send(&format!("{:x}\r\n{event}\r\n", event.len())) {
                return;
            }
        }
    });
    (backend, tell)
}

#[test]
fn each_event_arrives_before_the_next_one_is_sent_and_revocation_ends_them() {
    let (backend, tell) = eventful();
    let scene = Scene::tuned(backend.at, "", |config| config.route[0].streams = true);
    let field = scene.session("s", "u:p");
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    client.send(&format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n"));
    // The head does not wait for the first event either.
    assert!(client.head().unwrap().contains("text/event-stream"));
    for number in 0..100 {
        tell.send(number).unwrap();
        assert!(client.until(&format!("data: {number}\n\n")).is_some());
    }
    revoke(&scene, "s");
    let (rest, _) = client.rest();
    assert!(!rest.contains("0\r\n\r\n"), "{rest}");
}

/// Switches protocols if the request asks for it; otherwise sends a plain answer.
fn switching(mut client: RawClient) {
    while let Some(request) = client.request() {
        let asked = field(&request.head, "upgrade").is_some();
        assert_eq!(asked, field(&request.head, "connection").is_some());
        if !asked {
            client.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain");
            continue;
        }
        // Bytes that follow at once may come with the head.
        client.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nwelcome ");
        while let Some(word) = client.until(" ") {
            client.send(&word);
            if word == "bye " {
                return;
            }
        }
        // After the client's half-close, the backend may still send.
        client.send("last words");
        return;
    }
}

fn switching_scene() -> (Scene, String) {
    let more =
        "[[route]]\nupstream = \"backend\"\npath = \"/talk\"\nupgrades = true\nstreams = true\n";
    let scene = Scene::new(Backend::start(switching).at, more);
    let field = scene.session("s", "u:p");
    (scene, field)
}

fn tunnel(scene: &Scene, field: &str) -> RawClient {
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    // Impatient clients send before they get 101.
    client.send(&format!(
        "GET /talk HTTP/1.1\r\nHost: a\r\n{ASK_TO_UPGRADE}{field}\r\n\r\nfirst "
    ));
    let head = client.head().unwrap();
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(head.contains("Upgrade: echo\r\n"), "{head}");
    assert_eq!(client.until("welcome ").unwrap(), "welcome ");
    assert_eq!(client.until("first ").unwrap(), "first ");
    client
}

#[test]
fn where_the_route_has_upgrades_bytes_go_both_ways() {
    let (scene, field) = switching_scene();
    let mut client = tunnel(&scene, &field);
    for n in 0..100 {
        let word = format!("{n} ");
        client.drip(&word);
        assert_eq!(client.until(" ").unwrap(), word);
    }
    let large = format!("{} ", "x".repeat(300_000));
    let mut writing = RawClient::new(client.stream.try_clone().unwrap());
    let sent = large.clone();
    let writer = std::thread::spawn(move || writing.send(&sent));
    assert!(client.until(" ").unwrap() == large);
    assert!(writer.join().unwrap());
    client.send("bye ");
    assert_eq!(client.rest(), ("bye ".into(), true));
    // A half-close is passed on as a half-close.
    let mut client = tunnel(&scene, &field);
    client.finish_writing();
    assert_eq!(client.rest(), ("last words".into(), true));
}

#[test]
fn a_tunnel_ends_with_the_session() {
    let (scene, field) = switching_scene();
    let mut client = tunnel(&scene, &field);
    revoke(&scene, "s");
    assert_eq!(client.rest().0, "");
}

#[test]
fn without_upgrades_on_the_route_the_field_is_removed() {
    let (scene, field) = switching_scene();
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    for _ in 0..2 {
        client.send(&format!(
            "GET / HTTP/1.1\r\nHost: a\r\n{ASK_TO_UPGRADE}{field}\r\n\r\n"
        ));
        assert_eq!(client.answer().whole(200).body, "plain");
    }
    // A client without a session is refused before the upgrade.
    client.send(&format!(
        "GET /talk HTTP/1.1\r\nHost: a\r\n{ASK_TO_UPGRADE}\r\n"
    ));
    assert_eq!(client.answer().status(), 401);
}

/// RFC 9110 §15.2.2: a server may switch only to a protocol that was asked for.
#[test]
fn a_backend_that_switches_without_being_asked_is_a_502() {
    let backend = Backend::start(|mut client| {
        let _ = client.request();
        client.send(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
        );
        let _ = client.rest();
    });
    let scene = Scene::tuned(backend.at, "", |config| config.route[0].auth = false);
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(matches!(client.answer(), Answer::Whole(502, _)));
}

/// A page that answers with a status of its client's choice would otherwise open a way to the
/// backend past every check.
#[test]
fn a_backend_that_does_not_switch_gets_no_more_bytes() {
    const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let backend = Backend::start(move |mut client| {
        let head = client.head().unwrap();
        let more = field(&head, "x-answer").unwrap_or_default().to_owned();
        client.send(&format!(
            "HTTP/1.1 101 S\r\n{}\r\n",
            more.replace('|', "\r\n")
        ));
        tell.lock().unwrap().send(client.rest().0).unwrap();
    });
    let scene = Scene::tuned(backend.at, "", |config| {
        (config.route[0].auth, config.route[0].upgrades) = (false, true);
    });
    for answer in ["", "Upgrade: websocket|", "Upgrade: echo|"] {
        let mut client = RawClient::to(scene.gate().addresses().http[0]);
        client.send(&format!(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n{KEY}\
             X-Answer: {answer}\r\n\r\nGET /secret HTTP/1.1\r\nHost: a\r\n\r\n"
        ));
        assert_eq!(client.answer().status(), 502, "{answer}");
        assert_eq!(told.recv().unwrap(), "", "{answer}");
    }
}

/// RFC 9110 §15.5.22: the answer names the protocols that the server requires.
#[test]
fn a_required_upgrade_is_named() {
    let backend = Backend::start(|mut client| {
        while client.head().is_some() {
            client.send("HTTP/1.1 426 Upgrade Required\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let scene = gate_with(backend.at, |_| {});
    let gate = scene.gate().addresses().http[0];
    for (asked, connection) in [("", "upgrade"), ("Connection: close\r\n", "close, upgrade")] {
        let mut client = RawClient::to(gate);
        client.send(&format!("GET / HTTP/1.1\r\nHost: a\r\n{asked}\r\n"));
        let head = client.head().unwrap();
        assert!(head.starts_with("HTTP/1.1 426 "), "{head}");
        assert_eq!(field(&head, "upgrade"), Some("websocket"));
        assert_eq!(field(&head, "connection"), Some(connection));
    }
}
