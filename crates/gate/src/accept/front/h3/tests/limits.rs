//! Each limit on what a client may use, and what happens when it is exceeded.

use std::time::Duration;

use h3::error::Code;
use quinn::ConnectionError;
use tokio::time::timeout;

use super::{ask, client, get, rest, text};
use crate::accept::front::scene::{Scene, run};
use crate::config::{Bytes, Span};
use crate::record::Limit;

fn closed_with(error: &ConnectionError, code: Code) -> bool {
    matches!(error, ConnectionError::ApplicationClosed(close)
        if close.error_code.into_inner() == code.value())
}

#[test]
fn rapid_reset_ends_the_connection() {
    run(
        |config| config.limits.resets = 10,
        async |scene: Scene| {
            let met = client(&scene).await;
            for _ in 0..40 {
                let mut client = met.client.clone();
                let Ok(mut stream) = client.send_request(get("/never")).await else {
                    break;
                };
                stream.stop_stream(Code::H3_REQUEST_CANCELLED);
                stream.stop_sending(Code::H3_REQUEST_CANCELLED);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let error = met.quic.closed().await;
            assert!(closed_with(&error, Code::H3_EXCESSIVE_LOAD), "{error}");
            assert_eq!(scene.met(Limit::Resets), 1);
        },
    );
}

#[test]
fn a_header_list_that_is_too_large_is_refused() {
    run(
        |config| config.limits.head = Bytes(1024),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            // The client obeys the limit that gate announces: many fields that are small on the
            // wire make a large list.
            let mut request = get("/");
            for _ in 0..25 {
                request.headers_mut().append("x", "y".parse().unwrap());
            }
            if let Ok(mut stream) = met.client.send_request(request).await {
                stream.finish().await.unwrap();
                assert_eq!(stream.recv_response().await.unwrap().status(), 431);
            }
            text(&mut ask(&mut met.client, get("/")).await).await;
            assert_eq!(scene.backend.heads.borrow().len(), 1);
        },
    );
}

/// If gate waited for the frame's end, the engine would buffer all of it.
#[test]
fn a_frame_that_never_ends_is_not_gathered() {
    run(
        |config| config.limits.head = Bytes(1024),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            let (mut up, _down) = met.quic.open_bi().await.unwrap();
            // HEADERS of 2^30 - 1 bytes.
            up.write_all(&[1, 0xbf, 0xff, 0xff, 0xff]).await.unwrap();
            let piece = vec![0; 16 * 1024];
            let mut sent = 0;
            while up.write_all(&piece).await.is_ok() {
                sent += piece.len();
                assert!(sent < 8 << 20, "it is taken without end");
            }
            text(&mut ask(&mut met.client, get("/")).await).await;
        },
    );
}

/// One connection may have many streams, each with the beginning of a head.
#[test]
fn heads_that_are_not_complete_count_against_the_window() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            // HEADERS of 60 000 bytes, without the last one.
            let head = [1, 0x80, 0, 0xea, 0x60].into_iter();
            let part: Vec<u8> = head.chain(std::iter::repeat_n(0, 59_999)).collect();
            let mut streams = Vec::new();
            for _ in 0..60 {
                streams.push(met.quic.open_bi().await.unwrap());
                let (up, _) = streams.last_mut().unwrap();
                let written = up.write_all(&part);
                if timeout(Duration::from_millis(300), written).await.is_err() {
                    break;
                }
            }
            // 1 MiB.
            assert_eq!(streams.len(), 18);
            for (up, _) in &mut streams {
                up.reset(Code::H3_REQUEST_CANCELLED.value().try_into().unwrap())
                    .unwrap();
            }
            text(&mut ask(&mut met.client, get("/")).await).await;
        },
    );
}

#[test]
fn too_many_streams_are_refused_one_by_one() {
    run(
        |config| config.limits.streams = 2,
        async |scene: Scene| {
            let met = client(&scene).await;
            let mut streams = Vec::new();
            for _ in 0..2 {
                streams.push(ask(&mut met.client.clone(), get("/never")).await);
            }
            while scene.backend.heads.borrow().len() < 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let mut third = ask(&mut met.client.clone(), get("/")).await;
            let error = third.recv_response().await.unwrap_err();
            assert!(error.to_string().contains("REJECTED"), "{error}");
            assert_eq!(scene.met(Limit::Streams), 1);
        },
    );
}

#[test]
fn a_connection_without_requests_is_let_go() {
    run(
        |config| config.limits.idle_time = Span(Duration::from_millis(500)),
        async |scene: Scene| {
            let mut met = client(&scene).await;
            text(&mut ask(&mut met.client, get("/")).await).await;
            let error = met.quic.closed().await;
            assert!(closed_with(&error, Code::H3_NO_ERROR), "{error}");
            met.served.await.unwrap().unwrap();
            assert_eq!(scene.met(Limit::IdleTime), 1);
        },
    );
}

#[test]
fn after_so_many_requests_a_client_is_asked_to_come_anew() {
    run(
        |config| config.limits.requests = 2,
        async |scene: Scene| {
            let mut met = client(&scene).await;
            for _ in 0..2 {
                text(&mut ask(&mut met.client, get("/")).await).await;
            }
            met.served.await.unwrap().unwrap();
            assert_eq!(scene.met(Limit::Requests), 1);
        },
    );
}

#[test]
fn before_the_end_busy_connections_go_after_their_streams() {
    run(
        |_| (),
        async |scene: Scene| {
            let mut idle = client(&scene).await;
            text(&mut ask(&mut idle.client, get("/")).await).await;
            let mut busy = client(&scene).await;
            let mut stream = ask(&mut busy.client, get("/events")).await;
            stream.recv_response().await.unwrap();
            scene.thread.drain();
            idle.served.await.unwrap().unwrap();
            assert!(!busy.served.is_finished());
            for _ in 0..3 {
                scene.backend.event.notify_one();
                tokio::task::yield_now().await;
            }
            let all = async {
                while !stream_is_over(&mut stream).await {
                    scene.backend.event.notify_one();
                }
            };
            all.await;
            busy.served.await.unwrap().unwrap();
        },
    );
}

/// Reads one more event; returns whether the stream has ended.
async fn stream_is_over(stream: &mut super::Stream) -> bool {
    stream.recv_data().await.unwrap().is_none() && rest(stream).await.unwrap().is_empty()
}
