//! The admin server over a real socket.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use tokio::time::timeout;

use super::*;
use crate::record::{Entry, Gauge, Known, Ledgers, Protocol, Reason};

struct Admin {
    address: SocketAddr,
    book: Ledgers,
    draining: Arc<AtomicBool>,
    state: Arc<AdminState>,
    server: JoinHandle<()>,
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn admin() -> Admin {
    let (book, draining) = (Ledgers::new(2), Arc::new(AtomicBool::new(false)));
    let state = AdminState::new(
        book.clone(),
        draining.clone(),
        Arc::default(),
        "roundtrip 0".into(),
    );
    let state = Arc::new(state);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(serve(listener, state.clone()));
    book.ledger(0).raise(Gauge::Accepting);
    Admin {
        address,
        book,
        draining,
        state,
        server,
    }
}

impl Admin {
    /// Sends `text`, and returns everything until the end.
    async fn say(&self, text: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        // If part of a refused request was not read, the connection ends with a reset.
        let _ = stream.read_to_string(&mut answer).await;
        answer
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let asked = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = self.say(&asked).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head[9..12].parse().unwrap(), body.to_owned())
    }
}

#[tokio::test]
async fn alive_and_ready_are_different_things() {
    let admin = admin().await;
    assert_eq!(admin.get("/readyz").await, (200, "ready\n".into()));
    admin.draining.store(true, Relaxed);
    let (status, why) = admin.get("/readyz?verbose").await;
    assert_eq!((status, why.as_str()), (503, "not ready: draining\n"));
    assert_eq!(admin.get("/healthz").await, (200, "alive\n".into()));
}

#[tokio::test]
async fn clients_without_a_request_do_not_delay_others() {
    let admin = admin().await;
    let mut idle = Vec::new();
    for _ in 0..10 * MAX_CONNECTIONS {
        idle.push(TcpStream::connect(admin.address).await.unwrap());
    }
    // Shorter than the time after which an idle connection is closed in any case.
    let answer = timeout(Duration::from_secs(10), admin.get("/readyz")).await;
    assert_eq!(answer, Ok((200, "ready\n".into())));
}

#[tokio::test]
async fn figures_are_told_as_text_as_json_and_as_a_page() {
    let admin = admin().await;
    let mut entry = Entry::new(Instant::now(), Protocol::H2, true);
    (entry.status, entry.known) = (200, Some(Known::Near));
    admin.book.ledger(1).record(&entry, Instant::now());
    entry.turn_away(401, Reason::Expired);
    admin.book.ledger(0).record(&entry, Instant::now());
    let (_, text) = admin.get("/metrics").await;
    assert!(text.contains("roundtrip_gate_round_trips_saved_total{remedy=\"near_cache\"} 2\n"));
    let (_, text) = admin.get("/metrics.json").await;
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], "roundtrip/gate-metrics/1");
    assert_eq!(json["durations"]["whole"]["count"], 2);
    assert_eq!(json["ready"], true);
    let saved = json["counters"]["round_trips_saved"].as_array().unwrap();
    let near = saved.iter().find(|row| row["remedy"] == "near_cache");
    assert_eq!(near.unwrap()["value"], 2);
    for path in ["/", "/live"] {
        let (status, page) = admin.get(path).await;
        assert_eq!(status, 200);
        assert!(page.contains("<strong>2</strong>"), "{path}: {page}");
        assert!(
            page.contains("<dt>expired</dt><dd>1</dd>"),
            "{path}: {page}"
        );
        assert_eq!(page.starts_with("<!DOCTYPE html>"), path == "/");
    }
}

#[tokio::test]
async fn the_page_may_run_its_own_script_alone() {
    use aws_lc_rs::digest::{SHA256, digest};
    use base64::Engine;
    let admin = admin().await;
    let answer = admin
        .say("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await;
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    let policy = head.split("Content-Security-Policy: ").nth(1).unwrap();
    let policy = policy.lines().next().unwrap();
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"));
    for (tag, kind, count) in [("script", "script-src", 1), ("style", "style-src", 2)] {
        let allowed = policy
            .split(';')
            .find(|p| p.trim().starts_with(kind))
            .unwrap();
        let inside: Vec<&str> = page
            .split(&format!("<{tag}>"))
            .skip(1)
            .map(|rest| rest.split(&format!("</{tag}>")).next().unwrap())
            .collect();
        assert_eq!(inside.len(), count);
        for text in inside {
            let hash = digest(&SHA256, text.as_bytes());
            let hash = base64::engine::general_purpose::STANDARD.encode(hash);
            assert!(allowed.contains(&hash), "{tag}");
        }
    }
    for outside in [" style=", " onload=", "src=\"http", "href=\"http"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[tokio::test]
async fn a_connection_carries_several_requests() {
    let admin = admin().await;
    let answer = admin
        .say("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(answer.matches("HTTP/1.1 200 OK\r\n").count(), 2);
    assert_eq!(answer.matches("Content-Length: 6\r\n").count(), 2);
    assert_eq!(answer.matches("alive\n").count(), 1, "HEAD has no body");
    assert!(answer.ends_with("alive\n"));
}

#[tokio::test]
async fn other_requests_are_refused() {
    let admin = admin().await;
    let long = "a".repeat(9000);
    for (text, status) in [
        (
            "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            405,
        ),
        (
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
            413,
        ),
        (
            "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            413,
        ),
        (
            "GET /secret HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            404,
        ),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("\x16\x03\x01\x02\x00\x01\x00", 400),
        (&format!("GET /{long} HTTP/1.1\r\n"), 431),
    ] {
        let answer = admin.say(text).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{text:?}: {answer}"
        );
        assert!(!answer.contains("secret"));
    }
}

#[tokio::test]
async fn a_name_that_somebody_else_gave_it_is_not_its_own() {
    let admin = admin().await;
    admin.state.is_called(&["gate.internal".into()]);
    let port = admin.address.port();
    for (host, status) in [
        (admin.address.to_string(), 200),
        (format!("localhost:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        (format!("Gate.Internal:{port}"), 200),
        (format!("evil.example:{port}"), 421),
        ("127.0.0.1.evil.example".into(), 421),
        ("localhost.evil.example".into(), 421),
    ] {
        for path in ["/", "/metrics", "/readyz", "/metrics.json"] {
            let asked = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            let answer = admin.say(&asked).await;
            let line = format!("HTTP/1.1 {status} ");
            assert!(answer.starts_with(&line), "{host} {path}: {answer}");
            assert_eq!(answer.contains("admin.hosts"), status == 421);
        }
    }
}
