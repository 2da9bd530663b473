//! Bytes on plain sockets: what no well-behaved client sends or shows.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use roundtrip_origin::{Echo, EchoKnobs};

use crate::peers::Peer;

fn talk(peer: &Peer, bytes: &[u8]) -> String {
    let mut tcp = TcpStream::connect(peer.origin.http).unwrap();
    tcp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    tcp.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    let _ = tcp.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let peer = Peer::with(|_| {});
    let answers = talk(
        &peer,
        b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none\
          POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n\
          GET /status/404 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    let one = answers.find("\r\n\r\none").unwrap();
    let two = answers.find("\r\n\r\ntwo").unwrap();
    assert!(
        one < two && two < answers.find("404 Not Found").unwrap(),
        "{answers}"
    );
    assert_eq!(peer.origin.stats().requests, 3);
}

#[test]
fn bytes_that_are_not_a_request_get_a_status_and_the_end() {
    let peer = Peer::with(|_| {});
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(70_000));
    for (bytes, status) in [
        (&b"\x16\x03\x01\x00\x05hello\r\n\r\n"[..], "400"),
        (b"GET / HTTP/1.1\r\n\r\n", "400"),
        (b"GET / HTTP/3.0\r\nHost: x\r\n\r\n", "505"),
        (b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", "505"),
        (
            b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            "501",
        ),
        (long.as_bytes(), "431"),
    ] {
        let answer = talk(&peer, bytes);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
    }
    assert_eq!(peer.origin.stats().bad_requests, 5);
}

#[test]
fn the_old_version_gets_no_chunks_and_no_second_request() {
    let peer = Peer::with(|_| {});
    let answer = talk(
        &peer,
        b"GET /chunked/5 HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n",
    );
    assert!(answer.ends_with("\r\n\r\n01234"), "{answer}");
    assert!(answer.contains("connection: close"));
    let kept =
        b"GET /bytes/1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /bytes/1 HTTP/1.0\r\n\r\n";
    assert_eq!(talk(&peer, kept).matches("200 OK").count(), 2);
}

#[test]
fn idle_connections_are_ended() {
    let peer = Peer::with(|knobs| knobs.http.keep_alive = Duration::from_millis(50));
    let answer = talk(&peer, b"GET /bytes/1 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.ends_with("\r\n\r\n0"), "{answer}");
    assert_eq!(talk(&peer, b""), "");
}

#[test]
fn beyond_the_limit_connections_wait() {
    let peer = Peer::with(|knobs| knobs.listen.max_connections = 2);
    let held: Vec<_> = (0..2)
        .map(|_| TcpStream::connect(peer.origin.http).unwrap())
        .collect();
    let mut third = TcpStream::connect(peer.origin.http).unwrap();
    third.write_all(b"GET /bytes/1 HTTP/1.0\r\n\r\n").unwrap();
    third
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    assert!(third.read(&mut [0]).is_err(), "answered beyond the limit");
    drop(held);
    third
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    assert_eq!(third.read(&mut [0]).unwrap(), 1);
}

#[test]
fn a_stopped_origin_listens_no_more() {
    let peer = Peer::with(|_| {});
    let (http, https) = (peer.origin.http, peer.origin.https);
    let open = TcpStream::connect(http).unwrap();
    drop(peer);
    assert!(TcpStream::connect(http).is_err());
    assert!(TcpStream::connect(https).is_err());
    drop(open);
}

#[test]
fn the_echo_returns_what_it_gets() {
    let peer = Peer::with(|knobs| knobs.listen.echo_port = Some(0));
    let mut tcp = TcpStream::connect(peer.origin.echo.unwrap()).unwrap();
    for _ in 0..2 {
        tcp.write_all(b"hello\n").unwrap();
        let mut back = [0; 6];
        tcp.read_exact(&mut back).unwrap();
        assert_eq!(&back, b"hello\n");
    }
    assert_eq!(peer.origin.stats().echo_bytes, 12);
}

#[tokio::test]
async fn the_echo_runs_alone_too() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let echo = Echo::start(&EchoKnobs::default()).unwrap();
    let mut tcp = tokio::net::TcpStream::connect(echo.address).await.unwrap();
    tcp.write_all(b"hello\n").await.unwrap();
    let mut back = [0; 6];
    tcp.read_exact(&mut back).await.unwrap();
    assert_eq!((&back, echo.stats().tcp_connections), (b"hello\n", 1));
}
