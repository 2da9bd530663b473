//! Bodies that come fast at first and then slowly, in virtual time. HTTP/3 has the same exchange.
#![allow(clippy::unwrap_used, clippy::panic)] // a test may panic

use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep};

use super::h2::tests::{post, speak};
use super::scene::{Scene, run_in_virtual_time};
use crate::record::Limit;

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
/// Before the burst the client is fast enough.
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
