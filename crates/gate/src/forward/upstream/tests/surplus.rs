//! What one exchange must not do to the others on its connection, and the answer to a request for
//! which there is no stream.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::spawn_local;

use super::authority::Authority;
use super::raw::{self, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, Seen, serve};
use super::scene::{ANY, run, until, upstream};
use super::streams::{Server, over_h2, receive, send};
use super::through::{ask, client, client_with};
use crate::config::{Span, UpstreamProtocol};
use crate::forward::upstream::Fate;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// More than the library tolerates in the life of a connection.
const MANY: usize = 2600;

/// Data for streams that gate has reset still arrives. That is not a connection error.
#[test]
fn exchanges_that_end_early_end_no_other() {
    run(async || {
        let resets = Rc::new(RefCell::new(HashSet::new()));
        let (heads, wrong) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let (count, asked, gone) = (resets.clone(), heads.clone(), wrong.clone());
        let (address, connections) = serve(move |seen: Seen| match seen.kind {
            SETTINGS => seen.write(raw::settings(100)),
            HEADERS => asked.set(asked.get() + 1),
            // Gate answers data for a stream that it has forgotten with another one.
            RST_STREAM if count.borrow_mut().insert(seen.stream) => {
                seen.write(raw::data(seen.stream, b"late"));
                if count.borrow().len() == MANY {
                    // The first of all is still in progress.
                    seen.write([raw::head(1), raw::end(1)].concat());
                }
            }
            GOAWAY => gone.set(gone.get() + 1),
            _ => {}
        })
        .await;
        let upstream = over_h2(address, |_| {});
        let mut first = upstream.lease(ANY).await.unwrap();
        send(&mut first, "/", "\r\n").await;
        until(|| heads.get() == 1).await;
        let reset = || resets.borrow().len();
        while reset() < MANY {
            let mut links = Vec::new();
            for _ in 0..65 {
                let mut link = upstream.lease(ANY).await.unwrap();
                send(&mut link, "/", "\r\n").await;
                links.push(link);
            }
            let before = reset();
            until(|| heads.get() == 1 + before + 65).await;
            drop(links);
            until(|| reset() == before + 65).await;
        }
        let answer = receive(&mut first).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!((connections.get(), wrong.get()), (1, 0));
    });
}

/// A client that reads nothing of an answer in small pieces.
#[test]
fn answers_in_small_pieces_that_nobody_reads_end_no_other() {
    const BYTES: usize = 60_000;
    const PIECES: usize = 9;
    run(async || {
        let wrong = Rc::new(Cell::new(0));
        let gone = wrong.clone();
        let (address, connections) = serve(move |seen: Seen| match seen.kind {
            SETTINGS => seen.write(raw::settings(100)),
            HEADERS if seen.stream == 1 => {
                let mut frames = raw::head(1);
                for _ in 0..PIECES {
                    frames.extend(raw::data(1, &[b'l'; 16 * 1024]));
                }
                for _ in 0..BYTES {
                    frames.extend(raw::data(1, b"s"));
                }
                seen.write(frames);
            }
            HEADERS => seen.write([raw::answer(seen.stream), raw::end(1)].concat()),
            GOAWAY => gone.set(gone.get() + 1),
            _ => {}
        })
        .await;
        let upstream = over_h2(address, |_| {});
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.set_send_buffer_size(4096).unwrap();
        let mut stalled = client_with(&upstream, socket).await;
        stalled.write_all(GET.as_bytes()).await.unwrap();
        let mut begun = vec![0; 4096];
        stalled.read_exact(&mut begun).await.unwrap();
        // Frames come in order, so all of these have come before this answer.
        let mut other = client(&upstream).await;
        let answer = ask(&mut other, GET, "0\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!((connections.get(), wrong.get()), (1, 0));
        while !begun.ends_with(b"\r\n0\r\n\r\n") {
            assert!(stalled.read_buf(&mut begun).await.unwrap() > 0);
        }
        let count = |byte: u8| begun.split(|b| *b == byte).count() - 1;
        assert!(count(b'l') >= PIECES * 16 * 1024);
        assert!(count(b's') >= BYTES);
        assert!(count(b's') < BYTES + 100, "{}", count(b's'));
    });
}

/// Some servers write such frames, for instance with the head.
#[test]
fn empty_data_ends_no_connection() {
    run(async || {
        let wrong = Rc::new(Cell::new(0));
        let gone = wrong.clone();
        let (address, connections) = serve(move |seen: Seen| match seen.kind {
            SETTINGS => seen.write(raw::settings(100)),
            HEADERS => {
                let mut frames = raw::head(seen.stream);
                for _ in 0..150 {
                    frames.extend(raw::data(seen.stream, b""));
                    frames.extend(raw::padding(seen.stream));
                }
                frames.extend(raw::data(seen.stream, b"said"));
                frames.extend(raw::end(seen.stream));
                seen.write(frames);
            }
            GOAWAY => gone.set(gone.get() + 1),
            _ => {}
        })
        .await;
        let upstream = over_h2(address, |_| {});
        for _ in 0..3 {
            let mut link = upstream.lease(ANY).await.unwrap();
            send(&mut link, "/", "\r\n").await;
            let answer = receive(&mut link).await;
            assert!(answer.ends_with("4\r\nsaid\r\n0\r\n\r\n"), "{answer}");
            link.finish(Fate::Kept);
        }
        assert_eq!((connections.get(), wrong.get()), (1, 0));
    });
}

/// A further connection that cannot be opened delays nobody who can have a stream of the first.
#[test]
fn a_connection_that_hangs_takes_no_stream_from_those_that_wait() {
    run(async || {
        let authority = Authority::new(&["h2"]);
        let (address, server) = Server::start(Some(&authority)).await;
        server.most_streams.set(2);
        let before = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = before.local_addr().unwrap();
        let hanging = Rc::new(RefCell::new(Vec::new()));
        let hangs = hanging.clone();
        spawn_local(async move {
            let (mut stream, _) = before.accept().await.unwrap();
            let mut on = TcpStream::connect(address).await.unwrap();
            spawn_local(async move { copy_bidirectional(&mut stream, &mut on).await });
            loop {
                let (stream, _) = before.accept().await.unwrap();
                hangs.borrow_mut().push(stream);
            }
        });
        let upstream = upstream(&[format!("https://{at}")], |config| {
            config.protocol = UpstreamProtocol::H2;
            config.ca = Some(authority.ca());
            config.connect = Span(Duration::from_secs(40));
        });
        let mut first = upstream.lease(ANY).await.unwrap();
        send(&mut first, "/", "\r\n").await;
        receive(&mut first).await;
        first.finish(Fate::Kept);
        let mut held = Vec::new();
        for _ in 0..2 {
            let mut link = upstream.lease(ANY).await.unwrap();
            send(&mut link, "/silent", "\r\n").await;
            held.push(link);
        }
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let upstream = upstream.clone();
                spawn_local(async move { upstream.lease(ANY).await.unwrap() })
            })
            .collect();
        until(|| hanging.borrow().len() == 1).await;
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
        for waiting in waiting {
            held.remove(0);
            let mut link = waiting.await.unwrap();
            assert!(link.is_reused());
            send(&mut link, "/silent", "\r\n").await;
            held.push(link);
        }
        let counts = upstream.group().counts();
        assert_eq!((counts.ejected, counts.failed), (0, 0));
        assert_eq!(server.connections.get(), 1);
    });
}

/// The exchange that waited for the connection had left before.
#[test]
fn a_failure_that_nobody_waited_for_fails_nobody_later() {
    run(async || {
        let listener = TcpSocket::new_v4().unwrap();
        listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let upstream = over_h2(listener.local_addr().unwrap(), |_| {});
        let mut leaving = Box::pin(upstream.lease(ANY));
        assert!(poll_fn(|cx| Poll::Ready(leaving.as_mut().poll(cx).is_pending())).await);
        drop(leaving);
        until(|| upstream.group().counts().unreached == 1).await;
        let listener = listener.listen(1).unwrap();
        spawn_local(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read_to_end(&mut Vec::new()).await;
        });
        assert!(upstream.lease(ANY).await.is_ok());
    });
}

/// RFC 9113 §8.7. A server's limit is not known before its SETTINGS, and may be exceeded then.
#[test]
fn streams_that_the_server_refuses_wait_again() {
    const LIMIT: usize = 3;
    run(async || {
        let (open, refused) = (Rc::new(RefCell::new([0; 64])), Rc::new(Cell::new(0)));
        let refusals = refused.clone();
        let (address, connections) = serve(move |seen: Seen| {
            if seen.kind != HEADERS {
                return;
            }
            let at = seen.connection;
            if open.borrow()[at] == LIMIT {
                refusals.set(refusals.get() + 1);
                let limit = u8::try_from(LIMIT).unwrap();
                return seen.write([raw::settings(limit), raw::refuse(seen.stream)].concat());
            }
            open.borrow_mut()[at] += 1;
            let open = open.clone();
            spawn_local(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                open.borrow_mut()[at] -= 1;
                seen.write(raw::answer(seen.stream));
            });
        })
        .await;
        let upstream = over_h2(address, |config| config.retry_budget = 0);
        let mut asking = Vec::new();
        for _ in 0..20 {
            let upstream = upstream.clone();
            asking.push(spawn_local(async move {
                let mut client = client(&upstream).await;
                let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
                ask(&mut client, post, "\r\n\r\n").await
            }));
        }
        for asking in asking {
            let answer = asking.await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        let counts = upstream.group().counts();
        assert_eq!(
            (counts.failed, counts.ejected, counts.over_budget),
            (0, 0, 0)
        );
        assert!((1..=3).contains(&refused.get()), "{}", refused.get());
        assert!(connections.get() < 20);
    });
}

/// New requests do not go to a connection on which nothing arrives, not even the answer to PING.
#[test]
fn a_connection_that_the_network_forgot_is_given_up() {
    run(async || {
        let pings = Rc::new(Cell::new(0));
        let count = pings.clone();
        let (address, connections) = serve(move |seen: Seen| match seen.kind {
            SETTINGS => seen.write(raw::settings(100)),
            PING => count.set(count.get() + 1),
            HEADERS if seen.connection > 1 || seen.stream == 1 => {
                seen.write(raw::answer(seen.stream));
            }
            _ => {}
        })
        .await;
        let upstream = over_h2(address, |_| {});
        spawn_local(upstream.maintain());
        for _ in 0..2 {
            let mut link = upstream.lease(ANY).await.unwrap();
            send(&mut link, "/", "\r\n").await;
            if pings.get() == 0 && connections.get() == 1 && link.is_reused() {
                until(|| pings.get() > 0).await;
                until(|| upstream.group().counts().left > 0).await;
                continue;
            }
            receive(&mut link).await;
            link.finish(Fate::Kept);
        }
        let mut link = upstream.lease(ANY).await.unwrap();
        send(&mut link, "/", "\r\n").await;
        receive(&mut link).await;
        assert_eq!((connections.get(), pings.get()), (2, 1));
    });
}
