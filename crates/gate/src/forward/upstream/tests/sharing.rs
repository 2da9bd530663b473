//! How many connections over HTTP/2 the exchanges with a server share.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::task::{spawn_local, yield_now};
use tokio::time::timeout;

use super::scene::{ANY, run, until};
use super::streams::{Server, over_h2, receive, send};
use crate::config::Span;
use crate::forward::upstream::{Fate, LeaseNeeds, Upstream};

const LENGTH: &str = "Content-Length: 4\r\n\r\nsaid";

/// A server's limit of streams delays no exchange: the next one gets another connection.
#[test]
fn a_full_connection_is_joined_by_another() {
    run(async || {
        let (address, server) = Server::start(None).await;
        server.most_streams.set(2);
        let upstream = over_h2(address, |config| {
            config.idle_time = Span(Duration::from_secs(2));
        });
        exchange(&upstream).await;
        let mut held = Vec::new();
        for _ in 0..5 {
            let mut link = upstream.lease(ANY).await.unwrap();
            send(&mut link, "/silent", "\r\n").await;
            held.push(link);
        }
        until(|| server.heads.borrow().len() == 6).await;
        assert_eq!(server.connections.get(), 3);
        // A place that becomes free is used again.
        held.truncate(1);
        until(|| server.resets.borrow().len() == 4).await;
        assert!(exchange(&upstream).await);
        assert_eq!(server.connections.get(), 3);
        // Connections without streams are idle.
        spawn_maintenance(&upstream);
        until(|| upstream.group().counts().idled >= 2).await;
        assert_eq!(held.len(), 1);
    });
}

/// A client that asks for much waits for itself, not others for it.
#[test]
fn clients_get_streams_in_turn() {
    run(async || {
        let (address, server) = Server::start(None).await;
        server.most_streams.set(1);
        let upstream = over_h2(address, |config| {
            config.connect = Span(Duration::from_secs(30));
        });
        let by = |client: u8| LeaseNeeds {
            client: Some([192, 0, 2, client].into()),
            ..ANY
        };
        exchange(&upstream).await;
        let held = upstream.lease(by(1)).await.unwrap();
        server.stop();
        let order: Rc<RefCell<Vec<u8>>> = Rc::default();
        let mut waiting = Vec::new();
        for client in [1, 1, 1, 1, 2] {
            let (upstream, order) = (upstream.clone(), order.clone());
            waiting.push(spawn_local(async move {
                let link = upstream.lease(by(client)).await.unwrap();
                order.borrow_mut().push(client);
                drop(link);
            }));
            yield_now().await;
        }
        drop(held);
        for task in waiting {
            task.await.unwrap();
        }
        assert_eq!(*order.borrow(), [1, 1, 2, 1, 1]);
    });
}

/// Sends a request, and returns whether its connection was used before. The server states its limit
/// before it answers.
async fn exchange(upstream: &Upstream) -> bool {
    let mut link = upstream.lease(ANY).await.unwrap();
    let is_reused = link.is_reused();
    send(&mut link, "/a", LENGTH).await;
    receive(&mut link).await;
    link.finish(Fate::Kept);
    is_reused
}

fn spawn_maintenance(upstream: &Rc<Upstream>) {
    spawn_local(upstream.maintain());
}

/// Exchanges whose clients read nothing do not use up the window of the others.
#[test]
fn answers_that_nobody_reads_block_no_other() {
    run(async || {
        let (address, server) = Server::start(None).await;
        let upstream = over_h2(address, |_| {});
        let large = "x".repeat(300 * 1024);
        let mut unread = Vec::new();
        for count in 0..99 {
            let mut link = upstream.lease(ANY).await.unwrap();
            let length = format!("Content-Length: {}\r\n\r\n{large}", large.len());
            send(&mut link, "/counted", &length).await;
            // The answer has begun.
            assert!(link.stream.read(&mut [0; 8]).await.unwrap() > 0, "{count}");
            unread.push(link);
        }
        let mut other = upstream.lease(ANY).await.unwrap();
        send(&mut other, "/a", LENGTH).await;
        let answer = timeout(Duration::from_secs(20), receive(&mut other)).await;
        assert!(answer.unwrap().contains("said"));
        assert_eq!(server.connections.get(), 1);
    });
}
