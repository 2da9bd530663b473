//! How many connections over HTTP/2 the exchanges with a server share.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::scene::{ANY, run, until};
use super::streams::{Server, over_h2, receive, send};
use crate::config::Span;
use crate::forward::upstream::Fate;

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
        // The server states its limit before it answers.
        let mut first = upstream.lease(ANY).await.unwrap();
        send(&mut first, "/a", LENGTH).await;
        receive(&mut first).await;
        first.finish(Fate::Kept);
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
        let mut next = upstream.lease(ANY).await.unwrap();
        assert!(next.is_reused());
        send(&mut next, "/a", LENGTH).await;
        receive(&mut next).await;
        next.finish(Fate::Kept);
        assert_eq!(server.connections.get(), 3);
        // Connections without streams are idle.
        spawn_maintenance(&upstream);
        until(|| upstream.group().counts().idled >= 2).await;
        assert_eq!(held.len(), 1);
    });
}

fn spawn_maintenance(upstream: &std::rc::Rc<crate::forward::upstream::Upstream>) {
    tokio::task::spawn_local(upstream.maintain());
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
