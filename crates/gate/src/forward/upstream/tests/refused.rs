//! Uploads that an HTTP/2 server refuses while they arrive. RFC 9113 §8.7.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

use super::raw::{self, DATA, END_STREAM, HEADERS, SETTINGS, Seen, serve};
use super::scene::{run, until};
use super::streams::over_h2;
use super::through::{ask, client, client_counted};
use crate::forward::upstream::Upstream;
use crate::record::{Ledgers, Pool};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\n\r\n";
/// A request for which gate requests a connection at once, because of its content type.
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc\r\n\
    Accept: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
/// A stream of a connection that was used before and carries another exchange.
const USED: u32 = 3;

/// What the server got: the bytes of each upload, by connection and stream.
#[derive(Default)]
struct Got {
    bodies: RefCell<BTreeMap<(usize, u32), Vec<u8>>>,
    refused: Cell<bool>,
}

impl Got {
    fn body(&self, number: usize) -> Vec<u8> {
        let bodies = self.bodies.borrow();
        bodies.values().nth(number).cloned().unwrap_or_default()
    }
}

/// A server that refuses the first upload once it has `after` bytes of it, by these frames.
async fn refusing(after: usize, refusal: fn(u32) -> Vec<u8>) -> (Rc<Got>, Rc<Upstream>, TcpStream) {
    let got = Rc::<Got>::default();
    let seen_by = got.clone();
    let (address, _) = serve(move |seen: Seen| {
        let got = &seen_by;
        let at = (seen.connection, seen.stream);
        match seen.kind {
            SETTINGS => seen.write(raw::settings(100)),
            HEADERS if at == (1, USED) => {}
            HEADERS if seen.flags & END_STREAM == END_STREAM => {
                seen.write(raw::answer(seen.stream));
            }
            HEADERS => {
                got.bodies.borrow_mut().insert(at, Vec::new());
                seen.write(raw::room(seen.stream, 1 << 20));
            }
            DATA => {
                let mut bodies = got.bodies.borrow_mut();
                let Some(body) = bodies.get_mut(&at) else {
                    return;
                };
                body.extend_from_slice(&seen.payload);
                if body.len() >= after && !got.refused.replace(true) {
                    seen.write(refusal(seen.stream));
                } else if seen.flags & END_STREAM == END_STREAM {
                    seen.write(raw::answer(seen.stream));
                }
            }
            _ => {}
        }
    })
    .await;
    let upstream = over_h2(address, |_| {});
    let mut first = client(&upstream).await;
    ask(&mut first, GET, "0\r\n\r\n").await;
    first.write_all(GET.as_bytes()).await.unwrap();
    (got, upstream, first)
}

async fn is_sent_again(refusal: fn(u32) -> Vec<u8>) {
    let (got, upstream, _held) = refusing(3, refusal).await;
    let book = Ledgers::new(1);
    let socket = TcpSocket::new_v4().unwrap();
    let mut uploading = client_counted(&upstream, socket, book.ledger(0)).await;
    uploading.write_all(POST.as_bytes()).await.unwrap();
    uploading.write_all(b"3\r\nabc\r\n").await.unwrap();
    until(|| got.body(1) == b"abc").await;
    let answer = ask(&mut uploading, "3\r\ndef\r\n0\r\n\r\n", "0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(got.body(1), b"abcdef");
    assert_eq!(got.bodies.borrow().len(), 2);
    until(|| book.snapshot().get(Pool::Retried) == 1).await;
    let counts = upstream.group().counts();
    assert_eq!((counts.failed, counts.ejected), (0, 0));
}

#[test]
fn an_upload_that_is_refused_in_flight_is_sent_again() {
    run(async || is_sent_again(raw::refuse).await);
}

#[test]
fn an_upload_behind_the_last_stream_of_a_server_that_leaves_is_sent_again() {
    run(async || is_sent_again(|_| raw::leave(3)).await);
}

/// Gate does not keep for long what it has sent, so the client has to send the request again, and
/// may do so.
#[test]
fn an_upload_of_which_too_much_was_sent_may_be_repeated_by_its_client() {
    const BYTES: usize = 200_000;
    run(async || {
        let (got, upstream, _held) = refusing(BYTES, raw::refuse).await;
        let mut uploading = client(&upstream).await;
        let body = format!("{BYTES:x}\r\n{}\r\n", "x".repeat(BYTES));
        uploading.write_all(POST.as_bytes()).await.unwrap();
        let answer = ask(&mut uploading, &body, "}\n").await;
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.contains("Retry-After: 1\r\n"), "{answer}");
        assert!(answer.contains("backend_refused"), "{answer}");
        assert_eq!(got.bodies.borrow().len(), 1);
        assert_eq!(upstream.group().counts().failed, 0);
    });
}
