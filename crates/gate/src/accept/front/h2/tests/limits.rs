//! Each limit on what a client may use, and what happens when it is exceeded.

use std::time::Duration;

use h2::Reason;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::timeout;

use super::{ask, get, is_over, speak, text};
use crate::accept::front::scene::{Scene, run, run_in_virtual_time};
use crate::config::{Bytes, Span};
use crate::record::Limit;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `GET https://a/never` in HPACK: the static table's entries, and two literals.
const ASK: &[u8] = b"\x82\x87\x04\x06/never\x41\x01a";

/// A client that sends arbitrary frames.
struct Raw(DuplexStream);

impl Raw {
    async fn to(scene: &Scene) -> Self {
        let mut stream = scene.connect().0;
        stream.write_all(PREFACE).await.unwrap();
        let mut raw = Self(stream);
        raw.send(SETTINGS, 0, 0, b"").await;
        raw
    }

    /// Sends a frame. Errors are ignored, because gate may have ended the connection.
    async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        let _ = self.0.write_all(&frame).await;
    }

    async fn ask(&mut self, stream: u32) {
        self.send(HEADERS, END_STREAM | END_HEADERS, stream, ASK)
            .await;
    }

    async fn frame(&mut self) -> Option<(u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        self.0.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some((head[3], stream, payload))
    }

    /// The error that the connection ends with.
    async fn goaway(&mut self) -> Option<Reason> {
        loop {
            let (kind, _, payload) = self.frame().await?;
            if kind == GOAWAY {
                let code = payload.get(4..8)?.try_into().ok()?;
                return Some(u32::from_be_bytes(code).into());
            }
        }
    }

    /// The last stream that the next GOAWAY names.
    async fn goaway_last(&mut self) -> Option<u32> {
        loop {
            let (kind, _, payload) = self.frame().await?;
            if kind == GOAWAY {
                return payload.first_chunk().map(|last| u32::from_be_bytes(*last));
            }
        }
    }

    async fn reset(&mut self) -> (u32, Reason) {
        loop {
            let (kind, stream, payload) = self.frame().await.unwrap();
            assert_ne!(kind, GOAWAY);
            if kind == RST_STREAM {
                return (
                    stream,
                    u32::from_be_bytes(payload.try_into().unwrap()).into(),
                );
            }
        }
    }
}

#[test]
fn rapid_reset_ends_the_connection() {
    for bursts in [1, 10] {
        run(
            |config| config.limits.resets = 10,
            async |scene: Scene| {
                let mut raw = Raw::to(&scene).await;
                let mut stream = 1;
                for _ in 0..20 / bursts {
                    for _ in 0..bursts {
                        raw.ask(stream).await;
                        raw.send(RST_STREAM, 0, stream, &8_u32.to_be_bytes()).await;
                        stream += 2;
                    }
                    for _ in 0..10 {
                        tokio::task::yield_now().await;
                    }
                }
                assert_eq!(raw.goaway().await, Some(Reason::ENHANCE_YOUR_CALM));
                assert_eq!(scene.met(Limit::Resets), 1);
            },
        );
    }
}

/// A client that cancels now and then, as browsers do, is not ended.
#[test]
fn resets_among_whole_exchanges_end_nothing() {
    run(
        |config| config.limits.resets = 10,
        async |scene: Scene| {
            let mut client = speak(scene.connect().0, 65_535).await;
            for _ in 0..40 {
                let mut ready = client.clone().ready().await.unwrap();
                let (_, mut up) = ready.send_request(get("/never"), true).unwrap();
                text(ask(&mut client, get("/")).await.unwrap()).await;
                up.send_reset(Reason::CANCEL);
            }
            assert_eq!(scene.met(Limit::Resets), 0);
        },
    );
}

#[test]
fn made_you_reset_ends_the_connection() {
    run(
        |config| config.limits.resets = 10,
        async |scene: Scene| {
            let mut raw = Raw::to(&scene).await;
            for stream in (1..60).step_by(2) {
                raw.ask(stream).await;
                // A window that is too large is an error of the stream: RFC 9113 §6.9.1.
                let increment = 0x7fff_ffff_u32.to_be_bytes();
                raw.send(WINDOW_UPDATE, 0, stream, &increment).await;
            }
            assert_eq!(raw.goaway().await, Some(Reason::ENHANCE_YOUR_CALM));
            assert_eq!(scene.met(Limit::Resets), 1);
        },
    );
}

#[test]
fn continuation_flood_ends_the_connection() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut raw = Raw::to(&scene).await;
            raw.send(HEADERS, END_STREAM, 1, ASK).await;
            for _ in 0..100 {
                raw.send(CONTINUATION, 0, 1, b"\x00\x01x\x01y").await;
            }
            assert_eq!(raw.goaway().await, Some(Reason::ENHANCE_YOUR_CALM));
            assert!(scene.backend.heads.borrow().is_empty());
        },
    );
}

#[test]
fn too_many_streams_are_refused_one_by_one() {
    run(
        |config| config.limits.streams = 2,
        async |scene: Scene| {
            let mut raw = Raw::to(&scene).await;
            for stream in [1, 3, 5] {
                raw.ask(stream).await;
            }
            assert_eq!(raw.reset().await, (5, Reason::REFUSED_STREAM));
            while scene.backend.heads.borrow().len() < 2 {
                tokio::task::yield_now().await;
            }
        },
    );
}

#[test]
fn a_header_list_that_is_too_large_is_refused() {
    run(
        |config| config.limits.head = Bytes(1024),
        async |scene: Scene| {
            let mut client = speak(scene.connect().0, 65_535).await;
            let mut request = get("/");
            let value = "v".repeat(1100).parse().unwrap();
            request.headers_mut().insert("x", value);
            assert_eq!(ask(&mut client, request).await.unwrap().status(), 431);
            assert_eq!(ask(&mut client, get("/")).await.unwrap().status(), 200);
            assert_eq!(scene.backend.heads.borrow().len(), 1);
        },
    );
}

#[test]
fn a_connection_without_requests_is_let_go() {
    run(
        |config| config.limits.idle_time = Span(Duration::from_millis(500)),
        async |scene: Scene| {
            let (stream, served) = scene.connect();
            let mut client = speak(stream, 65_535).await;
            text(ask(&mut client, get("/")).await.unwrap()).await;
            served.await.unwrap().unwrap();
            assert_eq!(scene.met(Limit::IdleTime), 1);
        },
    );
}

/// Frames without a request do not keep a connection open.
#[test]
fn a_client_that_only_pings_is_let_go() {
    run_in_virtual_time(
        |config| config.limits.idle_time = Span(Duration::from_secs(20)),
        async |scene: Scene| {
            let mut raw = Raw::to(&scene).await;
            let mut pings = 0;
            let code = loop {
                raw.send(PING, 0, 0, &[0; 8]).await;
                pings += 1;
                match timeout(Duration::from_secs(1), raw.goaway()).await {
                    Ok(code) => break code,
                    Err(_) => assert!(pings < 100, "it is kept"),
                }
            };
            assert_eq!(code, Some(Reason::NO_ERROR));
            assert_eq!(scene.met(Limit::IdleTime), 1);
        },
    );
}

#[test]
fn a_handshake_that_does_not_come_is_not_waited_for() {
    run(
        |config| config.limits.head_time = Span(Duration::from_millis(500)),
        async |scene: Scene| {
            let (mut stream, served) = scene.connect();
            stream.write_all(&PREFACE[..5]).await.unwrap();
            assert!(served.await.unwrap().is_err());
            assert_eq!(scene.met(Limit::HeadTime), 1);
        },
    );
}

#[test]
fn after_so_many_requests_a_client_is_asked_to_come_anew() {
    run(
        |config| config.limits.requests = 3,
        async |scene: Scene| {
            let (stream, served) = scene.connect();
            let mut client = speak(stream, 65_535).await;
            for _ in 0..3 {
                assert_eq!(ask(&mut client, get("/")).await.unwrap().status(), 200);
            }
            served.await.unwrap().unwrap();
            assert_eq!(scene.met(Limit::Requests), 1);
            assert!(ask(&mut client, get("/")).await.is_err());
        },
    );
}

/// The second GOAWAY does not need the client's help.
#[test]
fn a_client_that_does_not_answer_is_held_to_the_limit() {
    run_in_virtual_time(
        |config| config.limits.requests = 3,
        async |scene: Scene| {
            let mut raw = Raw::to(&scene).await;
            let mut last = None;
            for stream in (1..200).step_by(2) {
                raw.ask(stream).await;
                let next = timeout(Duration::from_millis(200), raw.goaway_last()).await;
                last = next.ok().flatten().or(last);
                if last.is_some_and(|last| last < 200) {
                    break;
                }
            }
            let last = last.unwrap();
            assert!((5..60).contains(&last), "{last}");
        },
    );
}

#[test]
fn before_the_end_idle_connections_go_and_busy_ones_after_their_streams() {
    run(
        |_| (),
        async |scene: Scene| {
            let (idle, idle_served) = scene.connect();
            let mut idle = speak(idle, 65_535).await;
            text(ask(&mut idle, get("/")).await.unwrap()).await;
            let (busy, busy_served) = scene.connect();
            let mut busy = speak(busy, 65_535).await;
            let mut body = ask(&mut busy, get("/events")).await.unwrap().into_body();
            scene.thread.drain();
            idle_served.await.unwrap().unwrap();
            for _ in 1..=3 {
                assert!(body.data().await.unwrap().is_ok());
                assert!(!busy_served.is_finished());
                scene.backend.event.notify_one();
            }
            assert!(is_over(&mut body).await);
            busy_served.await.unwrap().unwrap();
        },
    );
}
