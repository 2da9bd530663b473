//! A session that is revoked while its request waits: for the first byte of the answer, for the
//! rest of its own body, or for a connection to the backend. The client gets 401 before anything
//! else, and never the answer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)] // a test may panic

mod backend;

use std::io::{Read, Write};

use crate::exchanges::raw_client;
use crate::lifecycle::scene;
use crate::readings::{h2, h3};
use crate::server;
use crate::{runtime, until};
use backend::Backend;
use h2::{Connection, DATA, Frame, HEADERS, NO_WINDOW, PING, RST_STREAM, WINDOW_UPDATE};
use raw_client::RawClient;
use roundtrip_gate::config::{Config, Span};
use roundtrip_gate::manage::SessionManager;
use scene::{Scene, session};
use server::Server;

const ANSWER: &str = "what only the session may hear";

/// The kind of the session store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Redb,
    Redis,
}

struct Stage {
    scene: Scene,
    backend: Backend,
    field: String,
    // Dropped after the gate that uses it.
    _server: Option<Server>,
}

impl Stage {
    /// `None`, with a note, if the store is not installed.
    fn new(kept: Kept, connections: usize) -> Option<Self> {
        let server = match kept {
            Kept::Redb => None,
            Kept::Redis => {
                Some(runtime().block_on(Server::start("gate: revoked while it waits", &[]))?)
            }
        };
        let backend = Backend::start(ANSWER);
        let scene = Scene::tuned(backend.at, "", |config| {
            config.listen.threads = 1;
            config.listen.https = vec!["127.0.0.1:0".parse().unwrap()];
            let upstream = config.upstream.get_mut("backend").unwrap();
            upstream.connections = connections;
            upstream.connect = Span::seconds(60);
            if let Some(server) = &server {
                config.session.store = format!("unix:{}", server.socket().display());
            }
        });
        let field = session(&scene.config, "s", "u:p");
        Some(Self {
            scene,
            backend,
            field,
            _server: server,
        })
    }

    fn client(&self) -> RawClient {
        RawClient::to(self.scene.gate().addresses().http[0])
    }

    fn revoke(&self) {
        revoke(&self.scene.config, "s");
    }

    fn is_asked(&self, times: usize) {
        runtime().block_on(until("the backend is asked", async || {
            self.backend.asked() >= times
        }));
    }

    /// The backend is not released, so any answer is gate's own.
    fn is_told(&self, client: &mut RawClient) {
        self.backend.release_later();
        let answer = client.answer();
        assert!(!format!("{answer:?}").contains(ANSWER), "{answer:?}");
        assert_eq!(answer.status(), 401, "{answer:?}");
        assert!(
            !self.backend.is_released(),
            "it was notified no earlier than the backend answered"
        );
    }
}

fn revoke(config: &Config, sid: &str) {
    let revoking = async {
        SessionManager::open(config)
            .unwrap()
            .revoke(sid)
            .await
            .unwrap()
    };
    assert!(tokio::task::LocalSet::new().block_on(&runtime(), revoking));
}

fn while_the_answer_is_awaited(kept: Kept) {
    for request in [
        "GET / HTTP/1.1\r\nHost: a\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n",
    ] {
        let Some(stage) = Stage::new(kept, 16) else {
            return;
        };
        let body = match request {
            r if r.contains("Length") => "body",
            r if r.contains("chunked") => "4\r\nbody\r\n0\r\n\r\n",
            _ => "",
        };
        let mut client = stage.client();
        client.send(&format!("{request}{}\r\n\r\n{body}", stage.field));
        stage.is_asked(1);
        stage.revoke();
        stage.is_told(&mut client);
        // No client is left to take the answer.
        runtime().block_on(until("the backend's connection ends", async || {
            stage.backend.held() == 0
        }));
    }
}

#[test]
fn revoked_in_redb_while_the_answer_is_awaited() {
    while_the_answer_is_awaited(Kept::Redb);
}

#[test]
fn revoked_in_redis_while_the_answer_is_awaited() {
    while_the_answer_is_awaited(Kept::Redis);
}

/// An interim answer does not count as an answer.
#[test]
fn revoked_behind_an_interim_answer() {
    let Some(stage) = Stage::new(Kept::Redb, 16) else {
        return;
    };
    let mut client = stage.client();
    client.send(&format!(
        "GET /hint HTTP/1.1\r\nHost: a\r\n{}\r\n\r\n",
        stage.field
    ));
    assert!(client.head().unwrap().starts_with("HTTP/1.1 103 "));
    stage.revoke();
    stage.is_told(&mut client);
}

fn while_the_body_is_on_its_way(kept: Kept) {
    for framing in ["Content-Length: 1000000", "Transfer-Encoding: chunked"] {
        let Some(stage) = Stage::new(kept, 16) else {
            return;
        };
        let mut client = stage.client();
        let head = format!(
            "POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\n{}\r\n\r\n",
            stage.field
        );
        let piece = match framing {
            f if f.contains("chunked") => format!("3e8\r\n{}\r\n", "x".repeat(1000)),
            _ => "x".repeat(1000),
        };
        client.send(&format!("{head}{piece}"));
        // Whether or not gate has passed it on yet, it is in progress.
        runtime().block_on(until("it is under way", async || {
            stage
                .scene
                .admin("/metrics")
                .1
                .contains("\nroundtrip_gate_exchanges 1\n")
        }));
        client.send(&piece);
        stage.revoke();
        stage.is_told(&mut client);
        assert_eq!(stage.backend.bodies(), 0, "half a body was believed");
    }
}

#[test]
fn revoked_in_redb_while_the_body_is_on_its_way() {
    while_the_body_is_on_its_way(Kept::Redb);
}

#[test]
fn revoked_in_redis_while_the_body_is_on_its_way() {
    while_the_body_is_on_its_way(Kept::Redis);
}

fn while_it_waits_for_a_connection(kept: Kept) {
    let Some(stage) = Stage::new(kept, 1) else {
        return;
    };
    let other = session(&stage.scene.config, "other", "o:p");
    let mut first = stage.client();
    first.send(&format!(
        "GET /first HTTP/1.1\r\nHost: a\r\n{other}\r\n\r\n"
    ));
    stage.is_asked(1);
    let mut client = stage.client();
    client.send(&format!(
        "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n\r\n",
        stage.field
    ));
    runtime().block_on(until("it waits", async || {
        stage
            .scene
            .admin("/metrics")
            .1
            .contains("\nroundtrip_gate_exchanges 2\n")
    }));
    stage.revoke();
    stage.is_told(&mut client);
    stage.backend.release();
    assert_eq!(first.answer().whole(200).body, ANSWER);
    // On the connection that is free now.
    first.send(&format!(
        "GET /second HTTP/1.1\r\nHost: a\r\n{other}\r\n\r\n"
    ));
    assert_eq!(first.answer().whole(200).body, ANSWER);
    assert_eq!(
        stage.backend.asked(),
        2,
        "what was refused went to the backend"
    );
}

#[test]
fn revoked_in_redb_while_it_waits_for_a_connection() {
    while_it_waits_for_a_connection(Kept::Redb);
}

#[test]
fn revoked_in_redis_while_it_waits_for_a_connection() {
    while_it_waits_for_a_connection(Kept::Redis);
}

/// A connection is free for a slow body, but takes long to open.
#[test]
fn revoked_while_a_connection_is_opened_for_half_a_body() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap();
    let scene = Scene::tuned(at, "", |config| {
        let upstream = config.upstream.get_mut("backend").unwrap();
        upstream.servers = vec![format!("https://{at}")];
        upstream.connect = Span::seconds(60);
    });
    let field = session(&scene.config, "s", "u:p");
    let mut client = RawClient::to(scene.gate().addresses().http[0]);
    client.send(&format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n{field}\r\n\r\nfirst"
    ));
    let mut opening = silent.accept().unwrap().0;
    assert!(opening.read(&mut [0; 1]).unwrap() > 0, "no ClientHello");
    revoke(&scene.config, "s");
    assert_eq!(client.answer().status(), 401);
}

#[test]
fn revoked_while_the_answer_is_awaited_over_tls() {
    let Some(stage) = Stage::new(Kept::Redb, 16) else {
        return;
    };
    let mut client = h2::tls(&stage.scene, &[]);
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n\r\n", stage.field);
    client.write_all(request.as_bytes()).unwrap();
    client.flush().unwrap();
    stage.is_asked(1);
    stage.revoke();
    stage.backend.release_later();
    let mut answer = [0; 12];
    std::io::Read::read_exact(&mut client, &mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
    assert!(!stage.backend.is_released());
}

#[test]
fn revoked_while_the_answer_is_awaited_over_http_3() {
    let Some(stage) = Stage::new(Kept::Redb, 16) else {
        return;
    };
    let (name, value) = stage.field.split_once(": ").unwrap();
    let name = name.to_lowercase();
    let mut client = h3::Client::open(&stage.scene);
    let answered = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            client.ask(&[
                (":method", b"GET"),
                (":scheme", b"https"),
                (":authority", b"a"),
                (":path", b"/"),
                (name.as_str(), value.as_bytes()),
            ])
        });
        stage.is_asked(1);
        stage.revoke();
        stage.backend.release_later();
        asking.join().unwrap()
    });
    assert_ne!(answered.body, ANSWER.as_bytes());
    assert_eq!(answered.status, 401, "{answered:?}");
    assert!(!stage.backend.is_released());
}

#[test]
fn revoked_while_the_answer_is_awaited_over_http_2() {
    for upload in [false, true] {
        let Some(stage) = Stage::new(Kept::Redb, 16) else {
            return;
        };
        let (name, value) = stage.field.split_once(": ").unwrap();
        let name = name.to_lowercase();
        let method: &[u8] = if upload { b"POST" } else { b"GET" };
        let mut client = Connection::open(&stage.scene, &[]);
        let fields = [
            (":method", method),
            (":scheme", b"https"),
            (":authority", b"a"),
            (":path", b"/"),
            (name.as_str(), value.as_bytes()),
        ];
        let id = client.ask(&fields, !upload);
        if upload {
            client.send(&Frame::new(DATA, 0, id, b"some, and not all"));
            runtime().block_on(until("it is under way", async || {
                stage
                    .scene
                    .admin("/metrics")
                    .1
                    .contains("\nroundtrip_gate_exchanges 1\n")
            }));
        } else {
            stage.is_asked(1);
        }
        stage.revoke();
        stage.backend.release_later();
        let answered = client.answer(id);
        assert_ne!(answered.body, ANSWER.as_bytes());
        assert_eq!(answered.status, 401, "{answered:?}");
        assert!(!stage.backend.is_released());
        assert_eq!(stage.backend.bodies(), usize::from(!upload));
    }
}

/// The answer waits in gate for a client that reads nothing.
#[test]
fn revoked_while_the_answer_waits_for_its_client() {
    let Some(stage) = Stage::new(Kept::Redb, 16) else {
        return;
    };
    stage.backend.release();
    let (name, value) = stage.field.split_once(": ").unwrap();
    let name = name.to_lowercase();
    let mut client = Connection::open(&stage.scene, &NO_WINDOW);
    let fields: [(&str, &[u8]); 5] = [
        (":method", b"GET"),
        (":scheme", b"https"),
        (":authority", b"a"),
        (":path", b"/"),
        (name.as_str(), value.as_bytes()),
    ];
    let id = client.ask(&fields, true);
    client.await_frame(|frame| (frame.stream, frame.kind) == (id, HEADERS));
    stage.revoke();
    client.await_frame(|frame| (frame.stream, frame.kind) == (id, RST_STREAM));
    client.send(&Frame::new(WINDOW_UPDATE, 0, id, &[0, 1, 0, 0]));
    client.send(&Frame::new(PING, 0, 0, &[7; 8]));
    client.await_frame(|frame| {
        assert_ne!((frame.stream, frame.kind), (id, DATA));
        frame.kind == PING
    });
}
