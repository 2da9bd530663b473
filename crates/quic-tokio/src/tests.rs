//! What is left behind by those who stop waiting or let go of what they held.

mod observer;

use std::net::UdpSocket;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use roundtrip_quic::{ClientConfig, Dir, Endpoint, StreamId, Transport as Knobs};
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs;

use crate::connection::Turn;
use crate::state::Harbour;
use crate::wakers::Wish;
use crate::{Dock, Link, Receiving, Sending};

fn config() -> ClientConfig {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    ClientConfig::new(Arc::new(tls), Arc::new(Knobs::default()))
}

/// A connection to an address that never answers.
fn link() -> (Dock, UdpSocket, Link) {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let dock = Dock::open(socket, Endpoint::new(None, [9; 32])).unwrap();
    let to = silent.local_addr().unwrap();
    let link = dock.connect(&config(), to, "localhost").unwrap();
    (dock, silent, link)
}

#[tokio::test]
async fn who_stops_waiting_leaves_nothing_behind() {
    let (_dock, _silent, link) = link();
    let cx = &mut Context::from_waker(Waker::noop());
    for dir in [Dir::Bidi, Dir::Uni] {
        let mut turns = [Wish::Open(dir), Wish::Accept(dir)].map(|wish| Turn::new(&link, wish));
        assert!(
            turns
                .iter_mut()
                .all(|turn| turn.poll_stream(cx).is_pending())
        );
        assert_eq!(link.note(|berth| berth.crowd.is_empty()), Some(false));
    }
    for _ in 0..3 {
        let soon = Duration::from_millis(1);
        assert!(tokio::time::timeout(soon, link.closed()).await.is_err());
        assert!(tokio::time::timeout(soon, link.connected()).await.is_err());
    }
    assert_eq!(link.note(|berth| berth.crowd.is_empty()), Some(true));
}

#[tokio::test]
async fn who_lets_go_of_a_stream_leaves_nothing_behind() {
    let (_dock, _silent, link) = link();
    let id = StreamId(0);
    let streams = (
        Sending::new(&link, id, true),
        Receiving::new(&link, id, None),
    );
    assert_eq!(link.note(|berth| berth.held()), Some(2));
    drop(streams);
    assert_eq!(link.note(|berth| berth.held()), Some(0));
}

#[tokio::test]
async fn a_dock_that_is_closed_says_so_to_all_who_wait() {
    let (dock, _silent, link) = link();
    let waiting = [
        tokio::spawn({
            let dock = dock.clone();
            async move { dock.accept().await.is_none() }
        }),
        tokio::spawn({
            let link = link.clone();
            async move { link.connected().await.is_err() && link.open_uni().await.is_err() }
        }),
    ];
    tokio::task::yield_now().await;
    dock.close(7, b"enough");
    dock.closed().await;
    for task in waiting {
        assert!(task.await.unwrap());
    }
    assert!(link.close_reason().is_some());
}

#[tokio::test]
async fn who_waits_for_the_end_of_a_stream_hears_of_it() {
    let (dock, _silent, link) = link();
    let mut streams: Vec<Sending> = (0..2)
        .map(|n| Sending::new(&link, StreamId(4 * n), true))
        .collect();
    let waiting: Vec<_> = (0..3)
        .map(|n| {
            let link = link.clone();
            tokio::spawn(async move { link.stopped(4 * n).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let over = |n: usize| waiting[n].is_finished();
    assert_eq!((over(0), over(1), over(2)), (false, false, true));
    drop(streams.pop());
    tokio::task::yield_now().await;
    assert_eq!((over(0), over(1)), (false, true));
    dock.close(0, b"");
    for task in waiting {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_handshake_that_fails_confirms_nothing() {
    let (_dock, _silent, link) = link();
    let waiting = |link: Link| tokio::spawn(async move { link.confirmed().await });
    let before = waiting(link.clone());
    link.close(0, b"");
    // Nobody has been told yet.
    let mut idle = Context::from_waker(Waker::noop());
    let connected = pin!(link.connected()).poll(&mut idle);
    assert!(!matches!(connected, Poll::Ready(Ok(()))), "{connected:?}");
    link.closed().await;
    let after = waiting(link);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(!before.is_finished() && !after.is_finished());
}

#[tokio::test]
async fn a_dock_is_empty_once_its_connections_are_over() {
    let (dock, _silent, link) = link();
    let emptied = tokio::spawn({
        let dock = dock.clone();
        async move { dock.emptied().await }
    });
    tokio::task::yield_now().await;
    assert!(!emptied.is_finished());
    link.close(0, b"");
    emptied.await.unwrap();
    dock.emptied().await;
}

/// Or none would take the address tokens of those that began before it.
#[test]
fn docks_have_one_time() {
    let dock = Harbour::new(Endpoint::new(None, [1; 32]));
    let since_1970 = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let told = Duration::from_nanos(dock.lock().now().0);
    assert!(told.abs_diff(since_1970) < Duration::from_mins(1));
}
