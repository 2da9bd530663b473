//! Bodies that come fast at first and then slowly, in virtual time. HTTP/3 has the same exchange.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // a test may panic

use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::{Instant, sleep, timeout};

use super::h2::tests::{post, speak};
use super::scene::{Scene, run_in_virtual_time};
use crate::config::{self, Config};
use crate::record::{Limit, Reason};

const BURST: usize = 200_000;
/// 800 bytes a second: more than the rate that is required at first.
const PIECE: usize = 80;
const PAUSE: Duration = Duration::from_millis(100);
/// When the client sends the burst, which is more than is read ahead.
const BEGINNINGS: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_secs(5),
    Duration::from_millis(10_500),
    Duration::from_secs(15),
];
/// A window, and the time until the required rate has doubled.
const BOUND: Duration = Duration::from_secs(17);
/// Pieces of this size are fast enough before the burst.
const FAST: usize = 500;

/// The bytes that a client sends at this time after its beginning.
fn piece(since: Duration, burst: Duration) -> Vec<u8> {
    let size = if since < burst { FAST } else { PIECE };
    vec![b'x'; size]
}

#[test]
fn a_burst_over_http_1_buys_no_time() {
    for burst in BEGINNINGS {
        run_in_virtual_time(
            |_| (),
            async |scene: Scene| {
                let mut client = scene.connect_h1();
                let head = "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 90000000\r\n\r\n";
                client.write_all(head.as_bytes()).await.unwrap();
                let began = Instant::now();
                let mut sent = false;
                while scene.met(Limit::BodyRate) == 0 {
                    if !sent && began.elapsed() >= burst {
                        client.write_all(&vec![b'x'; BURST]).await.unwrap();
                        sent = true;
                    }
                    let _ = client.write_all(&piece(began.elapsed(), burst)).await;
                    sleep(PAUSE).await;
                    assert!(began.elapsed() < burst + BOUND, "at {burst:?}");
                }
                assert!(sent, "it was fast enough before");
                let mut said = String::new();
                let _ = client.read_to_string(&mut said).await;
                assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
            },
        );
    }
}

#[test]
fn a_burst_over_http_2_buys_no_time() {
    for burst in BEGINNINGS {
        run_in_virtual_time(
            |_| (),
            async |scene: Scene| {
                let mut client = speak(scene.connect().0, 65_535).await;
                let (answer, mut body) = client.send_request(post("/body"), false).unwrap();
                let began = Instant::now();
                let mut sent = false;
                while scene.met(Limit::BodyRate) == 0 {
                    if !sent && began.elapsed() >= burst {
                        let _ = body.send_data(Bytes::from(vec![b'x'; BURST]), false);
                        sent = true;
                    }
                    let piece = piece(began.elapsed(), burst);
                    let _ = body.send_data(Bytes::from(piece), false);
                    sleep(PAUSE).await;
                    assert!(began.elapsed() < burst + BOUND, "at {burst:?}");
                }
                assert!(sent, "it was fast enough before");
                assert_eq!(answer.await.unwrap().status(), 408);
            },
        );
    }
}

/// The minimum also applies while the exchange has no connection.
#[test]
fn a_buffered_body_has_the_same_minimum() {
    let buffers = |config: &mut Config| config.route[0].buffer_request = config::Bytes(1 << 20);
    run_in_virtual_time(buffers, async |scene: Scene| {
        let mut client = scene.connect_h1();
        let head = "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n90000\r\n";
        client.write_all(head.as_bytes()).await.unwrap();
        let began = Instant::now();
        while scene.met(Limit::BodyRate) == 0 {
            let _ = client.write_all(&[b'x'; PIECE]).await;
            sleep(PAUSE).await;
            assert!(began.elapsed() < 2 * BOUND);
        }
        let mut said = String::new();
        let _ = client.read_to_string(&mut said).await;
        assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
        assert!(scene.backend.heads.borrow().is_empty());
    });
}

/// The time for the whole exchange, which is over before any other limit is reached.
const TOTAL: Duration = Duration::from_secs(8);

fn bound_in_total(config: &mut Config) {
    let upstream = config::Upstream {
        total: config::Span(TOTAL),
        ..config::Upstream::default()
    };
    config.upstream.insert("backend".into(), upstream);
}

/// Sends a body in pieces, in this time, and returns everything up to the end of the connection.
async fn send_within(scene: &Scene, path: &str, length: usize, time: Duration) -> String {
    let mut client = scene.connect_h1();
    let head = format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
    client.write_all(head.as_bytes()).await.unwrap();
    let pieces = u32::try_from(time.as_millis() / PAUSE.as_millis()).unwrap();
    let (mut from, mut to) = tokio::io::split(client);
    let sending = async {
        for _ in 0..pieces {
            sleep(PAUSE).await;
            let piece = vec![b'x'; length / pieces as usize];
            let _ = to.write_all(&piece).await;
        }
        std::future::pending::<()>().await;
    };
    let mut said = String::new();
    tokio::select! {
        _ = from.read_to_string(&mut said) => {}
        () = sending => {}
    }
    said
}

#[test]
fn the_party_that_gate_waited_for_is_slow() {
    for buffers in [false, true] {
        let change = |config: &mut Config| {
            bound_in_total(config);
            config.route[0].buffer_request = config::Bytes(if buffers { 1 << 20 } else { 0 });
        };
        run_in_virtual_time(change, async |scene: Scene| {
            let said = send_within(&scene, "/body", 500_000, 2 * TOTAL).await;
            assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
            assert_eq!(
                (scene.refused(Reason::Slow), scene.met(Limit::Total)),
                (1, 1)
            );
            // The client takes less time than the backend, which begins and never ends.
            let said = send_within(&scene, "/hints", 5000, TOTAL / 4).await;
            assert!(said.contains("\r\n\r\nHTTP/1.1 504 "), "{said}");
            assert_eq!(
                (scene.refused(Reason::BackendSlow), scene.met(Limit::Total)),
                (1, 1)
            );
        });
    }
}

/// A client can write only as much as gate reads, plus 64 KiB in buffers.
#[test]
fn the_memory_of_buffered_bodies_is_bounded() {
    const HEAD: &str = "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
    for (all, one, limit, status) in [
        (1_200_000, 4 << 20, Limit::Buffered, 503),
        (4 << 20, 1_200_000, Limit::BufferedPerClient, 429),
    ] {
        let bounds = |config: &mut Config| {
            config.route[0].buffer_request = config::Bytes(1 << 20);
            config.limits.buffered = config::Bytes(all);
            config.limits.buffered_per_client = config::Bytes(one);
        };
        run_in_virtual_time(bounds, async |scene: Scene| {
            let mut first = scene.connect_h1();
            first.write_all(HEAD.as_bytes()).await.unwrap();
            first.write_all(&vec![b'x'; 900_000]).await.unwrap();
            let mut second = scene.connect_h1();
            second.write_all(HEAD.as_bytes()).await.unwrap();
            let _ = second.write_all(&vec![b'x'; 500_000]).await;
            assert!(
                read_head(&mut second)
                    .await
                    .starts_with(&format!("HTTP/1.1 {status} "))
            );
            assert_eq!(scene.met(limit), 1);
            first.write_all(&vec![b'x'; 100_000]).await.unwrap();
            assert!(read_head(&mut first).await.starts_with("HTTP/1.1 200 "));
            drop(first);
            // Ended exchanges no longer count.
            let mut third = scene.connect_h1();
            third.write_all(HEAD.as_bytes()).await.unwrap();
            third.write_all(&vec![b'x'; 1_000_000]).await.unwrap();
            assert!(read_head(&mut third).await.starts_with("HTTP/1.1 200 "));
        });
    }
}

/// Reads the beginning of an answer.
async fn read_head(client: &mut DuplexStream) -> String {
    let mut head = vec![0; "HTTP/1.1 200 ".len()];
    client.read_exact(&mut head).await.unwrap();
    String::from_utf8(head).unwrap()
}

/// A request that may be a replay waits for the end of the handshake, as long as a head may take.
#[test]
fn a_client_that_never_ends_the_handshake_is_not_waited_for() {
    run_in_virtual_time(
        |_| (),
        async |scene: Scene| {
            // Anything may follow an upgrade.
            for head in [
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
            ] {
                let mut client = scene.connect_h1_early();
                client.write_all(head.as_bytes()).await.unwrap();
                let mut said = String::new();
                let answered = timeout(BOUND, client.read_to_string(&mut said)).await;
                assert!(
                    answered.is_ok() && said.starts_with("HTTP/1.1 408 "),
                    "{head}: {said}"
                );
            }
            let (stream, _handshake) = scene.connect_early();
            let mut client = speak(stream, 65_535).await;
            let (answer, _) = client.send_request(post("/"), true).unwrap();
            let answer = timeout(BOUND, answer).await;
            assert_eq!(answer.unwrap().unwrap().status(), 408);
            assert!(scene.backend.heads.borrow().is_empty());
        },
    );
}
