//! HTTP/1.1 requests through all of gate to an HTTP/2 server.

use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;

use super::scene::{run, until};
use super::streams::{Server, over_h2};
use crate::Authenticator;
use crate::accept::front;
use crate::accept::stream::Peer;
use crate::accept::thread::Thread;
use crate::config::{Config, Route};
use crate::forward::site::Site;
use crate::forward::upstream::Upstream;

async fn client(upstream: &Rc<Upstream>) -> TcpStream {
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
    let thread = Rc::new(Thread::new(site, Arc::default(), None, Arc::default()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
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

async fn ask(client: &mut TcpStream, request: &str, end: &str) -> String {
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
        assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
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

/// No server is blamed for it, and none is ejected.
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
        let upstream = over_h2(address, |_| {});
        let mut client = client(&upstream).await;
        client
            .write_all(b"GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
            .await
            .unwrap();
        until(|| server.heads.borrow().len() == 1).await;
        drop(client);
        server.held.notify_one();
        until(|| !server.resets.borrow().is_empty()).await;
    });
}
