//! HTTP/1.1 responses, good, bad and hostile, over a stream in memory.

use std::io::{self, Cursor, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use proptest::prelude::*;
use roundtrip_http::{Connection, HttpError};
use roundtrip_model::HttpFacts;
use tokio::io::{AsyncRead, ReadBuf};

use crate::requests::{self, recorder};

fn ask(method: &str, response: &[u8]) -> (Result<(), HttpError>, HttpFacts, Vec<u8>) {
    let stream = tokio::io::join(Cursor::new(response.to_vec()), tokio::io::sink());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let mut connection = Connection::h1(stream);
    let url = "http://example.com/";
    runtime.block_on(requests::ask(&mut connection, method, url, &recorder()))
}

#[test]
fn interim_responses_come_before_the_answer() {
    let wire = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let (outcome, facts, body) = ask("GET", wire);
    outcome.unwrap();
    assert_eq!(
        (facts.status, facts.interim.as_slice(), body.as_slice()),
        (200, &[103][..], &b"ok"[..])
    );
    assert_eq!(facts.header_bytes as usize, wire.len() - 2);
    assert!(facts.keep_alive);
}

#[test]
fn encodings_are_taken_apart_and_counted_on_both_sides() {
    let plain = vec![b'x'; 5000];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&plain).unwrap();
    let gzip = gzip.finish().unwrap();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        gzip.len()
    );
    let (outcome, facts, body) = ask("GET", &[head.as_bytes(), &gzip].concat());
    outcome.unwrap();
    assert_eq!(body, plain);
    assert_eq!((facts.downloaded, facts.decoded), (gzip.len() as u64, 5000));
    let short = &gzip[..gzip.len() - 12];
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        short.len()
    );
    let (outcome, ..) = ask("GET", &[head.as_bytes(), short].concat());
    assert!(
        matches!(outcome, Err(HttpError::Encoding { .. })),
        "{outcome:?}"
    );
}

#[test]
fn premature_ends_are_named() {
    type Fits = fn(&HttpError) -> bool;
    let cases: [(&[u8], Fits); 7] = [
        (b"", |e| matches!(e, HttpError::ClosedUnanswered)),
        (b"HTTP/1.1 200 O", |e| matches!(e, HttpError::ClosedInHead)),
        (b"SSH-2.0-x\r\n", |e| matches!(e, HttpError::NotHttp(_))),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", |e| {
            matches!(
                e,
                HttpError::BodyCutShort {
                    got: 3,
                    expected: 9
                }
            )
        }),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
            |e| matches!(e, HttpError::ChunksCutShort { got: 2 }),
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\na", |e| {
            matches!(e, HttpError::Malformed(_))
        }),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\n\xff\xff\xff",
            |e| matches!(e, HttpError::Encoding { .. }),
        ),
    ];
    for (wire, fits) in cases {
        let (outcome, ..) = ask("GET", wire);
        assert!(
            outcome.as_ref().is_err_and(fits),
            "{} gave {outcome:?}",
            String::from_utf8_lossy(wire)
        );
    }
}

/// Gives these bytes, and then the error of a connection that was reset.
struct ResetAfter(Cursor<Vec<u8>>);

impl AsyncRead for ResetAfter {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.0.position() == self.0.get_ref().len() as u64 {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

#[tokio::test]
async fn a_body_that_is_reset_was_not_cut_short() {
    let (length, chunked, neither) = (
        "Content-Length: 9\r\n",
        "Transfer-Encoding: chunked\r\n",
        "",
    );
    for (framing, body, expected) in [
        (length, "abc", Some(9)),
        (chunked, "5\r\nabc", None),
        (neither, "abc", None),
    ] {
        let wire = format!("HTTP/1.1 200 OK\r\n{framing}\r\n{body}");
        let reader = ResetAfter(Cursor::new(wire.into_bytes()));
        let mut connection = Connection::h1(tokio::io::join(reader, tokio::io::sink()));
        let url = "http://example.com/";
        let asked = requests::ask(&mut connection, "GET", url, &recorder()).await;
        let Err(HttpError::BodyReset {
            got, expected: of, ..
        }) = asked.0
        else {
            panic!("{:?}", asked.0);
        };
        assert_eq!((got, of), (3, expected));
    }
}

#[test]
fn heads_have_a_bound() {
    let mut wire = b"HTTP/1.1 200 OK\r\n".to_vec();
    wire.extend((0..9000).flat_map(|_| b"X-Padding: 0123456789012345678901234567\r\n".to_vec()));
    let (outcome, ..) = ask("GET", &wire);
    assert!(
        matches!(
            outcome,
            Err(HttpError::HeadTooLarge { .. } | HttpError::Malformed(_))
        ),
        "{outcome:?}"
    );
    let endless = b"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100);
    assert!(matches!(
        ask("GET", &endless).0,
        Err(HttpError::TooManyInterim(_))
    ));
}

#[test]
fn a_head_response_has_no_body() {
    let (outcome, facts, body) = ask("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    outcome.unwrap();
    assert!(body.is_empty() && facts.downloaded == 0 && facts.keep_alive);
}

proptest! {
    #[test]
    fn no_bytes_panic(head in "[ -~\r\n]{0,80}", tail: Vec<u8>) {
        let _ = ask("GET", &[b"HTTP/1.1 200 OK\r\n", head.as_bytes(), b"\r\n\r\n", &tail].concat());
        let _ = ask("GET", &tail);
    }
}
