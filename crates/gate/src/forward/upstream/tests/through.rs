//! HTTP/1.1 requests through all of gate to an HTTP/2 server.

use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::spawn_local;

use super::scene::{ANY, run, until};
use super::streams::{Server, over_h2};
use crate::Authenticator;
use crate::accept::front;
use crate::accept::stream::Peer;
use crate::accept::thread::Thread;
use crate::config::{Config, Route};
use crate::forward::site::Site;
use crate::forward::upstream::Upstream;
use crate::record::Ledger;

pub(super) async fn client(upstream: &Rc<Upstream>) -> TcpStream {
    client_with(upstream, TcpSocket::new_v4().unwrap()).await
}

/// Like [`client`], with a socket whose buffers may be small, so that gate soon notices that the
/// client reads nothing.
pub(super) async fn client_with(upstream: &Rc<Upstream>, socket: TcpSocket) -> TcpStream {
    client_counted(upstream, socket, Arc::default()).await
}

/// Like [`client_with`], with a ledger that counts the exchanges.
pub(super) async fn client_counted(
    upstream: &Rc<Upstream>,
    socket: TcpSocket,
    ledger: Arc<Ledger>,
) -> TcpStream {
    let config = Config {
        route: vec![Route {
            upstream: "app".into(),
            auth: false,
            ..Route::default()
        }],
        ..Config::default()
    };
    let upstreams = [("app".to_owned(), upstream.clone())].into();
    let site = Site::new(
        &config,
        Authenticator::open(),
        Arc::default(),
        &upstreams,
        None,
    )
    .unwrap();
    let thread = Rc::new(Thread::new(site, ledger, None, Arc::default()));
    let listening = TcpSocket::new_v4().unwrap();
    listening
        .set_send_buffer_size(socket.send_buffer_size().unwrap())
        .unwrap();
    listening.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = listening.listen(1).unwrap();
    let ours = socket.connect(listener.local_addr().unwrap());
    let ours = ours.await.unwrap();
    let (gates, _) = listener.accept().await.unwrap();
    spawn_local(async move {
        let peer = Peer {
            address: Ipv4Addr::LOCALHOST.into(),
            secure: false,
            resumed: false,
            asks: false,
        };
        let _ = front::h1::serve(gates, peer, &thread).await;
    });
    ours
}

pub(super) async fn ask(client: &mut TcpStream, request: &str, end: &str) -> String {
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(end.as_bytes()) {
        let read = client.read_buf(&mut answer).await.unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&answer));
    }
    String::from_utf8(answer).unwrap()
}

#[test]
fn requests_and_answers_of_every_form() {
    run(async || {
        let (address, server) = Server::start(None).await;
        let upstream = over_h2(address, |_| {});
        let mut client = client(&upstream).await;
        let get = "GET /a?b HTTP/1.1\r\nHost: mail.example\r\nConnection: gone\r\nGone: z\r\nX: y\r\n\r\n";
        let answer = ask(&mut client, get, "0\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let chunked = "POST /counted HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
        let answer = ask(&mut client, chunked, "\r\n\r\nab").await;
        assert!(answer.contains("content-length: 2\r\n"), "{answer}");
        let counted = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\ncd";
        let answer = ask(&mut client, counted, "cd\r\n0\r\n\r\n").await;
        assert!(
            answer.contains("Transfer-Encoding: chunked\r\n"),
            "{answer}"
        );
        let head = "HEAD /counted HTTP/1.1\r\nHost: a\r\n\r\n";
        let answer = ask(&mut client, head, "\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let early = "GET /early HTTP/1.1\r\nHost: a\r\n\r\n";
        let answer = ask(&mut client, early, "0\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 103"), "{answer}");
        // A request that was not answered and may be repeated is sent once more.
        let refused = "GET /refused HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\n\r\n";
        let answer = ask(&mut client, refused, "}\n").await;
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        let heads = server.heads.borrow();
        assert_eq!(heads[0].uri(), "http://mail.example/a?b");
        assert_eq!(heads[0].headers()["x"], "y");
        assert_eq!(heads[0].headers()["x-forwarded-for"], "127.0.0.1");
        for gone in ["connection", "gone", "host"] {
            assert!(!heads[0].headers().contains_key(gone), "{gone}");
        }
        let refused = heads.iter().filter(|head| head.uri().path() == "/refused");
        assert_eq!(refused.count(), 2);
    });
}

/// RFC 9113 §8.7. The server has not failed, so it is not ejected.
#[test]
fn requests_that_the_server_refused_are_sent_again() {
    run(async || {
        let (address, server) = Server::start(None).await;
        are_sent_again(address, &server, || server.refusing.set(true)).await;
    });
}

/// RFC 9113 §6.8.
#[test]
fn requests_behind_the_last_one_of_a_server_that_leaves_are_sent_again() {
    for error in [0, 0xb] {
        are_sent_again_after_goaway(error);
    }
}

fn are_sent_again_after_goaway(error: u8) {
    // An empty SETTINGS, and GOAWAY for all streams.
    let mut leaving = *b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
    leaving[25] = error;
    run(async || {
        let (address, server) = Server::start(None).await;
        let before = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = before.local_addr().unwrap();
        spawn_local(async move {
            for leaves in [true, false].into_iter().cycle() {
                let (mut stream, _) = before.accept().await.unwrap();
                if leaves {
                    // The preface, SETTINGS, and the beginning of the request.
                    stream.read_exact(&mut [0; 100]).await.unwrap();
                    stream.write_all(&leaving).await.unwrap();
                    let _ = stream.read_to_end(&mut Vec::new()).await;
                    continue;
                }
                let mut on = TcpStream::connect(address).await.unwrap();
                spawn_local(async move {
                    let _ = copy_bidirectional(&mut stream, &mut on).await;
                });
            }
        });
        are_sent_again(at, &server, || {}).await;
    });
}

async fn are_sent_again(address: SocketAddr, server: &Rc<Server>, refuse: impl Fn()) {
    let upstream = over_h2(address, |_| {});
    let mut client = client(&upstream).await;
    for _ in 0..3 {
        refuse();
        let post = "POST /refused-once HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab";
        let answer = ask(&mut client, post, "ab\r\n0\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let counts = upstream.group().counts();
    assert_eq!((counts.failed, counts.ejected), (0, 0));
    assert!(counts.retried > 0);
    let bodies = server.heads.borrow().len() as u64;
    assert!(bodies <= 3 + counts.retried, "{bodies}");
}

/// The server is not blamed for the request, and not ejected.
#[test]
fn a_request_that_http_2_cannot_express_is_the_clients_mistake() {
    run(async || {
        let (address, server) = Server::start(None).await;
        let upstream = over_h2(address, |_| {});
        for _ in 0..5 {
            let mut without_host = client(&upstream).await;
            let sent = "GET / HTTP/1.0\r\nAccept: application/json\r\n\r\n";
            let answer = ask(&mut without_host, sent, "}\n").await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        }
        let mut client = client(&upstream).await;
        let odd = "GET /a?b=<\"> HTTP/1.1\r\nHost: a\r\n\r\n";
        let answer = ask(&mut client, odd, "0\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!(server.heads.borrow()[0].uri(), "http://a/a?b=%3C%22%3E");
        let counts = upstream.group().counts();
        assert_eq!((counts.failed, counts.ejected, counts.opened), (0, 0, 1));
    });
}

#[test]
fn a_client_that_leaves_takes_its_stream_with_it() {
    run(async || {
        let (address, server) = Server::start(None).await;
        let upstream = over_h2(address, |config| config.connections = 1);
        let mut client = client(&upstream).await;
        client
            .write_all(b"GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
            .await
            .unwrap();
        until(|| server.heads.borrow().len() == 1).await;
        drop(client);
        server.held.notify_one();
        until(|| !server.resets.borrow().is_empty()).await;
        // Its place is free.
        assert!(upstream.lease_if_free(ANY).await.unwrap().is_some());
    });
}
