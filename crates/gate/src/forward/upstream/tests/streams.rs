//! HTTP/2 to servers: many exchanges over one connection, bodies both ways, and what happens when
//! the connection is lost.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{Request, Response};
use roundtrip_tls::ServerStream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_local};

use super::authority::Authority;
use super::scene::{ANY, run, until, upstream};
use crate::config::{HealthCheck, Span, UpstreamProtocol};
use crate::forward::upstream::{Fate, LeaseNeeds, Link, Upstream, UpstreamError};

/// Answers according to the path.
#[derive(Default)]
pub(super) struct Server {
    accepting: Cell<Option<JoinHandle<()>>>,
    pub(super) connections: Cell<usize>,
    /// The largest number of streams on a connection; 0: any number.
    pub(super) most_streams: Cell<u32>,
    pub(super) heads: RefCell<Vec<Request<()>>>,
    pub(super) resets: RefCell<Vec<Reason>>,
    /// The next request for `/refused-once` is refused.
    pub(super) refusing: Cell<bool>,
    leave: Notify,
    cut: Notify,
    pub(super) held: Notify,
    ended: Cell<bool>,
}

impl Server {
    pub(super) async fn start(authority: Option<&Authority>) -> (SocketAddr, Rc<Self>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server: Rc<Self> = Rc::default();
        let (serving, config) = (server.clone(), authority.map(|a| a.server.clone()));
        server.accepting.set(Some(spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (server, config) = (serving.clone(), config.clone());
                spawn_local(async move {
                    match config {
                        None => server.connection(stream).await,
                        Some(config) => {
                            let stream = ServerStream::new(stream, config).unwrap();
                            server.connection(stream).await;
                        }
                    }
                });
            }
        })));
        (address, server)
    }

    /// Accepts no connections from now on.
    pub(super) fn stop(&self) {
        let _ = self.accepting.take().inspect(JoinHandle::abort);
    }

    async fn connection(self: Rc<Self>, io: impl AsyncRead + AsyncWrite + Unpin) {
        let mut builder = h2::server::Builder::new();
        if self.most_streams.get() > 0 {
            builder.max_concurrent_streams(self.most_streams.get());
        }
        let Ok(mut connection) = builder.handshake(io).await else {
            return;
        };
        self.connections.set(self.connections.get() + 1);
        loop {
            tokio::select! {
                accepted = connection.accept() => {
                    let Some(Ok((request, respond))) = accepted else { return };
                    let server = self.clone();
                    spawn_local(async move { server.answer(request, respond).await });
                }
                () = self.leave.notified() => connection.graceful_shutdown(),
                () = self.cut.notified() => return,
            }
        }
    }

    async fn answer(&self, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
        let (parts, mut body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        self.heads.borrow_mut().push(Request::from_parts(parts, ()));
        match path.as_str() {
            "/early" => {
                let mut hints = Response::new(());
                *hints.status_mut() = http::StatusCode::EARLY_HINTS;
                respond.send_informational(hints).unwrap();
            }
            "/refused-once" if self.refusing.replace(false) => {
                return respond.send_reset(Reason::REFUSED_STREAM);
            }
            "/refused" => return respond.send_reset(Reason::REFUSED_STREAM),
            "/silent" => {
                let reset = poll_fn(|cx| respond.poll_reset(cx)).await;
                return self.resets.borrow_mut().push(reset.unwrap());
            }
            _ => {}
        }
        let mut said = Vec::new();
        while let Some(data) = body.data().await {
            let data = data.unwrap();
            body.flow_control().release_capacity(data.len()).unwrap();
            said.extend_from_slice(&data);
        }
        let mut response = Response::builder();
        if path == "/counted" || path == "/held" {
            response = response.header("content-length", said.len());
        }
        let mut send = respond
            .send_response(response.body(()).unwrap(), false)
            .unwrap();
        if path == "/held" {
            self.held.notified().await;
        }
        send.send_data(said.into(), false).unwrap();
        if path == "/trailers" {
            let came = body.trailers().await.unwrap().unwrap_or_default();
            return send.send_trailers(came).unwrap();
        }
        if path != "/held" {
            let _ = send.send_data(Bytes::new(), true);
            return;
        }
        // The end of the stream comes separately from the data.
        tokio::select! {
            reset = poll_fn(|cx| send.poll_reset(cx)) => self.resets.borrow_mut().push(reset.unwrap()),
            () = self.held.notified() => {
                send.send_data(Bytes::new(), true).unwrap();
                self.ended.set(true);
            }
        }
    }
}

pub(super) fn over_h2(
    address: SocketAddr,
    change: impl FnOnce(&mut crate::config::Upstream),
) -> Rc<Upstream> {
    upstream(&[format!("http://{address}")], |config| {
        config.protocol = UpstreamProtocol::H2;
        change(config);
    })
}

pub(super) async fn send(link: &mut Link, path: &str, more: &str) {
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: app.example\r\nX-A: b\r\nConnection: x\r\n{more}");
    link.stream.write_all(head.as_bytes()).await.unwrap();
    link.stream.flush().await.unwrap();
}

pub(super) async fn receive(link: &mut Link) -> String {
    link.stream.read_to_end(&mut link.buffer).await.unwrap();
    String::from_utf8(std::mem::take(&mut link.buffer)).unwrap()
}

/// An answer without a length.
fn chunked(chunks: &str) -> String {
    format!("HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
}

#[test]
fn trailers_stand_behind_the_last_chunk() {
    run(async || {
        let (address, _server) = Server::start(None).await;
        let upstream = over_h2(address, |_| {});
        let chunks = "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n";
        for (sent, came) in [
            ("X-Sum: 1\r\nX-Sum: 2\r\n", "x-sum: 1\r\nx-sum: 2\r\n"),
            ("X-Sum: 1\r\nHost: evil\r\n", "x-sum: 1\r\n"),
            ("Host: evil\r\n", ""),
            ("", ""),
        ] {
            let mut link = upstream.lease(ANY).await.unwrap();
            send(&mut link, "/trailers", &format!("{chunks}{sent}\r\n")).await;
            let expected = chunked("2\r\nab\r\n").replace("\r\n0\r\n", &format!("\r\n0\r\n{came}"));
            assert_eq!(receive(&mut link).await, expected);
            link.finish(Fate::Kept);
        }
        let counts = upstream.group().counts();
        assert_eq!(counts.opened, 1);
    });
}

#[test]
fn one_connection_carries_all() {
    run(async || {
        let (address, server) = Server::start(None).await;
        let upstream = over_h2(address, |_| {});
        let mut links = Vec::new();
        for count in 0..5 {
            let mut link = upstream.lease(ANY).await.unwrap();
            assert_eq!(link.is_reused(), count > 0);
            send(
                &mut link,
                "/a?b",
                &format!("Content-Length: 4\r\n\r\nsay{count}"),
            )
            .await;
            links.push(link);
        }
        for (count, mut link) in links.into_iter().enumerate() {
            let answer = receive(&mut link).await;
            assert_eq!(answer, chunked(&format!("4\r\nsay{count}\r\n")));
            link.finish(Fate::Kept);
        }
        assert_eq!(server.connections.get(), 1);
        let counts = upstream.group().counts();
        assert_eq!((counts.opened, counts.reused, counts.spent), (1, 4, 0));
        let heads = server.heads.borrow();
        assert_eq!(heads[0].uri(), "http://app.example/a?b");
        assert_eq!(heads[0].headers()["x-a"], "b");
        assert_eq!(heads[0].headers()["content-length"], "4");
        assert!(!heads[0].headers().contains_key("connection"));
        assert!(!heads[0].headers().contains_key("host"));
    });
}

#[test]
fn bodies_of_any_form_and_size_pass() {
    run(async || {
        let (address, _server) = Server::start(None).await;
        let upstream = over_h2(address, |_| {});
        // Larger than all flow-control windows together.
        let large = "x".repeat(1_000_000);
        for (framing, written, body) in [
            ("\r\n", String::new(), ""),
            ("Content-Length: 0\r\n\r\n", String::new(), ""),
            (
                "Transfer-Encoding: chunked\r\n\r\n",
                "3\r\nabc\r\n1;e\r\nd\r\n0\r\nT: r\r\n\r\n".into(),
                "abcd",
            ),
            ("Content-Length: 1000000\r\n\r\n", large.clone(), &large),
            (
                "Transfer-Encoding: chunked\r\n\r\n",
                format!("f4240\r\n{large}\r\n0\r\n\r\n"),
                &large,
            ),
        ] {
            let link = upstream.lease(ANY).await.unwrap();
            let (mut from, mut to) = tokio::io::split(link.stream);
            let head = format!("POST /counted HTTP/1.1\r\nHost: a\r\n{framing}{written}");
            let up = async {
                // In pieces that end anywhere.
                for piece in head.as_bytes().chunks(7919) {
                    to.write_all(piece).await.unwrap();
                }
                to.flush().await.unwrap();
            };
            let mut answer = String::new();
            let down = from.read_to_string(&mut answer);
            let ((), read) = tokio::join!(up, down);
            read.unwrap();
            let (head, said) = answer.split_once("\r\n\r\n").unwrap();
            assert_eq!(
                head,
                format!("HTTP/1.1 200 \r\ncontent-length: {}", body.len())
            );
            assert!(said == body, "{} bytes", said.len());
        }
        assert_eq!(upstream.group().counts().opened, 1);
    });
}

#[test]
fn interim_answers_come_before_the_final_one() {
    run(async || {
        let (address, _server) = Server::start(None).await;
        let upstream = over_h2(address, |_| {});
        let mut link = upstream.lease(ANY).await.unwrap();
        send(&mut link, "/early", "\r\n").await;
        let expected = format!("HTTP/1.1 103 \r\n\r\n{}", chunked(""));
        assert_eq!(receive(&mut link).await, expected);
    });
}

#[test]
fn a_client_that_leaves_resets_the_stream_and_not_the_connection() {
    run(async || {
        let (address, server) = Server::start(None).await;
        let upstream = over_h2(address, |_| {});
        let mut link = upstream.lease(ANY).await.unwrap();
        send(&mut link, "/silent", "\r\n").await;
        until(|| server.heads.borrow().len() == 1).await;
        drop(link);
        until(|| !server.resets.borrow().is_empty()).await;
        assert_eq!(server.resets.take(), [Reason::CANCEL]);
        let mut link = upstream.lease(ANY).await.unwrap();
        assert!(link.is_reused());
        send(&mut link, "/refused", "\r\n").await;
        let error = link.stream.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    });
}

/// An exchange stops reading when it has the announced length; gate then waits for the end of the
/// stream.
#[test]
fn answers_that_are_whole_are_not_reset() {
    run(async || {
        let (address, server) = Server::start(None).await;
        let upstream = over_h2(address, |_| {});
        let mut link = upstream.lease(ANY).await.unwrap();
        send(&mut link, "/held", "Content-Length: 2\r\n\r\nab").await;
        let mut head = vec![0; "HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\n".len()];
        link.stream.read_exact(&mut head).await.unwrap();
        server.held.notify_one();
        let mut said = [0; 2];
        link.stream.read_exact(&mut said).await.unwrap();
        link.finish(Fate::Kept);
        // Frames of one connection come in order: a reset would have come before this.
        let mut next = upstream.lease(ANY).await.unwrap();
        assert!(next.is_reused());
        send(&mut next, "/", "\r\n").await;
        receive(&mut next).await;
        assert_eq!(server.resets.take(), []);
        server.held.notify_one();
        until(|| server.ended.get()).await;
    });
}

#[test]
fn a_server_that_leaves_is_connected_to_anew() {
    run(async || {
        let (address, server) = Server::start(None).await;
        let upstream = over_h2(address, |_| {});
        let mut old = upstream.lease(ANY).await.unwrap();
        send(&mut old, "/held", "Content-Length: 2\r\n\r\nab").await;
        until(|| server.heads.borrow().len() == 1).await;
        server.leave.notify_one();
        // Its GOAWAY has arrived when the next exchange gets another connection.
        until(|| {
            let waker = std::task::Waker::noop();
            let next = std::pin::pin!(upstream.lease(ANY));
            let _ = next.poll(&mut std::task::Context::from_waker(waker));
            upstream.group().counts().left == 1
        })
        .await;
        let mut link = upstream.lease(ANY).await.unwrap();
        send(&mut link, "/", "\r\n").await;
        assert_eq!(receive(&mut link).await, chunked(""));
        link.finish(Fate::Kept);
        // An exchange in progress is answered.
        server.held.notify_one();
        until(|| {
            server.held.notify_one();
            server.ended.get()
        })
        .await;
        assert_eq!(
            receive(&mut old).await,
            "HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nab"
        );
    });
}

#[test]
fn a_connection_that_failed_somebody_is_given_to_nobody_else() {
    run(async || {
        let (address, server) = Server::start(None).await;
        let upstream = over_h2(address, |_| {});
        upstream.lease(ANY).await.unwrap().finish(Fate::Failed);
        assert!(!upstream.lease(ANY).await.unwrap().is_reused());
        until(|| server.connections.get() == 2).await;
    });
}

/// The number of exchanges that the connection carried does not matter.
#[test]
fn the_end_of_a_connection_is_one_failure() {
    run(async || {
        let (address, server) = Server::start(None).await;
        let upstream = over_h2(address, |config| config.eject_after = 2);
        for ends in 1..=2 {
            let mut links = Vec::new();
            for _ in 0..4 {
                let mut link = upstream.lease(ANY).await.unwrap();
                send(&mut link, "/silent", "\r\n").await;
                links.push(link);
            }
            until(|| server.heads.borrow().len() == 4 * ends).await;
            server.cut.notify_one();
            for mut link in links {
                link.stream.read_to_end(&mut link.buffer).await.unwrap_err();
                link.finish(Fate::Failed);
            }
            let counts = upstream.group().counts();
            assert_eq!(
                (counts.failed, counts.ejected),
                (4 * ends as u64, ends as u64 / 2)
            );
        }
    });
}

#[test]
fn a_large_head_endangers_no_other_exchange() {
    run(async || {
        let (address, server) = Server::start(None).await;
        let upstream = over_h2(address, |_| {});
        let large = LeaseNeeds {
            large_head: true,
            ..ANY
        };
        for needs in [ANY, large, large, ANY] {
            let mut link = upstream.lease(needs).await.unwrap();
            send(&mut link, "/", "\r\n").await;
            assert_eq!(receive(&mut link).await, chunked(""));
            link.finish(Fate::Kept);
        }
        // Exchanges with large heads share one connection as well.
        assert_eq!(server.connections.get(), 2);
    });
}

#[test]
fn streams_are_bounded_and_queued() {
    run(async || {
        let (address, _server) = Server::start(None).await;
        let upstream = over_h2(address, |config| {
            config.connections = 2;
            config.connect = Span(std::time::Duration::from_millis(300));
        });
        let held = [
            upstream.lease(ANY).await.unwrap(),
            upstream.lease(ANY).await.unwrap(),
        ];
        let trouble = upstream.lease(ANY).await.unwrap_err();
        assert!(matches!(trouble, UpstreamError::Busy { .. }), "{trouble}");
        drop(held);
        upstream.lease(ANY).await.unwrap();
    });
}

#[test]
fn idle_connections_are_closed_by_us_and_spare_ones_opened() {
    run(async || {
        let (address, server) = Server::start(None).await;
        let upstream = over_h2(address, |config| {
            config.warm = 1;
            config.idle_time = Span(std::time::Duration::from_millis(30));
        });
        spawn_local(upstream.maintain());
        until(|| upstream.group().counts().idled >= 2).await;
        until(|| server.connections.get() >= 3).await;
        assert!(upstream.group().counts().open <= 1);
    });
}

#[test]
fn over_tls_it_is_negotiated() {
    run(async || {
        let authority = Authority::new(&["h2"]);
        let (address, server) = Server::start(Some(&authority)).await;
        let upstream = upstream(&[format!("https://{address}")], |config| {
            config.protocol = UpstreamProtocol::H2;
            config.ca = Some(authority.ca());
            config.health = Some(HealthCheck {
                path: "/up".into(),
                every: Span::seconds(3600),
            });
        });
        let mut link = upstream.lease(ANY).await.unwrap();
        assert!(link.is_secure());
        send(&mut link, "/", "\r\n").await;
        assert_eq!(receive(&mut link).await, chunked(""));
        assert_eq!(server.heads.borrow()[0].uri().scheme_str(), Some("https"));
        spawn_local(upstream.group().clone().maintain());
        until(|| server.heads.borrow().len() == 2).await;
        assert_eq!(server.heads.borrow()[1].uri().path(), "/up");

        let plain = Authority::new(&[]);
        let (address, _server) = Server::start(Some(&plain)).await;
        let upstream = super::scene::upstream(&[format!("https://{address}")], |config| {
            config.protocol = UpstreamProtocol::H2;
            config.ca = Some(plain.ca());
        });
        let trouble = upstream.lease(ANY).await.unwrap_err();
        assert!(
            matches!(trouble, UpstreamError::Protocol { .. }),
            "{trouble}"
        );
        assert_eq!(trouble.status(), 502);
    });
}
