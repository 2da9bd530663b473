//! Gates that stand for threads, all in front of one backend and with one redis-server.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use roundtrip_gate::Authenticator;
use roundtrip_gate::config::Config;
use roundtrip_gate::guard::Guard;
use roundtrip_gate::sessions::{NearSessions, StoreHandle};
use roundtrip_model::WallClock;
use roundtrip_wire::resp::Value;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;

use super::ClockOffset;
use crate::runtime;
use crate::server::{self, Server};
use crate::sessions::scene::{Backend, Client, cookie, listener, rules};

pub(crate) struct Gates {
    pub(crate) server: Server,
    pub(crate) known: Vec<NearSessions>,
    pub(crate) ahead: ClockOffset,
    other: RefCell<Option<server::Client>>,
    at: Vec<SocketAddr>,
    backend: Rc<Backend>,
}

struct ManualClock(ClockOffset);

impl WallClock for ManualClock {
    fn now(&self) -> SystemTime {
        let (now, ahead) = (SystemTime::now(), self.0.get());
        let span = Duration::from_secs(ahead.unsigned_abs());
        let moved = if ahead < 0 {
            now.checked_sub(span)
        } else {
            now.checked_add(span)
        };
        moved.expect("a time that can be represented")
    }
}

/// Runs a test, if redis-server is installed.
pub(crate) fn run(test: &str, grace: &str, gates: usize, play: impl AsyncFnOnce(Gates)) {
    let runtime = runtime();
    LocalSet::new().block_on(&runtime, async {
        if let Some(server) = Server::start(&format!("gate: {test}"), &[]).await {
            let gates = Gates::new(server, grace, gates).await;
            timeout(Duration::from_mins(5), play(gates)).await.unwrap();
        }
    });
}

impl Gates {
    async fn new(server: Server, grace: &str, gates: usize) -> Self {
        let text = format!(
            "[session]\nstore = \"unix:{}\"\ngrace = \"{grace}\"",
            server.socket().display()
        );
        let place = StoreHandle::open(&Config::parse(&text, "test").unwrap().session).unwrap();
        let (backend, backend_at) = Backend::start().await;
        let other = server.client().await;
        let mut all = Self {
            server,
            known: Vec::new(),
            ahead: ClockOffset::default(),
            other: RefCell::new(Some(other)),
            at: Vec::new(),
            backend,
        };
        for _ in 0..gates {
            let known = place.on_this_thread();
            spawn_local(known.clone().run());
            let wall = Box::new(ManualClock(all.ahead.clone()));
            let authenticator =
                Authenticator::new(Guard::new(rules(), wall).unwrap(), known.clone());
            let listener = listener().await;
            all.at.push(listener.local_addr().unwrap());
            all.known.push(known);
            spawn_local(roundtrip_gate::measuring::guarded(
                listener,
                backend_at,
                authenticator,
            ));
        }
        all
    }

    pub(crate) async fn client(&self, gate: usize) -> Client {
        Client::to(self.at[gate]).await
    }

    /// A stream of this session whose answer has begun.
    pub(crate) async fn open(&self, gate: usize, path: &str, sid: &str) -> Client {
        let mut client = self.client(gate).await;
        let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{}\r\n\r\n", cookie(sid));
        client.send(&head).await;
        let begun = if path == "/slow" { "begun" } else { "data: 1" };
        let answer = client.until(begun).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        client
    }

    pub(crate) fn next_event(&self) {
        self.backend.next_event();
    }

    /// Stores a session in the form of hyper-auth-proxy.
    pub(crate) async fn set(&self, sid: &str, login: &str) {
        let record = format!(r#"{{"credentials":"{}"}}"#, STANDARD.encode(login));
        self.ask(&["SET", sid, &record]).await;
    }

    /// A query to the store by another client. One at a time.
    pub(crate) async fn ask(&self, parts: &[&str]) -> Value {
        let mut other = self.other.borrow_mut().take().expect("nobody else asks");
        let answer = other.ask(parts).await;
        *self.other.borrow_mut() = Some(other);
        answer
    }

    pub(crate) async fn start_again(&mut self) {
        self.server.start_again().await;
        let other = self.server.client().await;
        *self.other.borrow_mut() = Some(other);
    }
}
