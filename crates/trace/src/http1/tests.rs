//! HTTP/1 in captures: messages are separated however the stream is cut; the parser is bounded and
//! tolerant.

use super::*;

fn talk(parts: &[(Side, &[u8])], piece: usize) -> Http1 {
    let mut http = Http1::default();
    for (side, bytes) in parts {
        for bytes in bytes.chunks(piece) {
            http.take(*side, Piece::Bytes(bytes));
        }
    }
    http
}

#[test]
fn requests_and_answers_are_told_apart_however_they_are_cut() {
    let post = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc".as_slice();
    let parts = [
        (Side::Client, post),
        (Side::Client, b"HEAD /b HTTP/1.1\r\nHost: x\r\n\r\n"),
        (
            Side::Server,
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
              2\r\nhi\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
                .as_slice(),
        ),
        (Side::Client, b"GET /c HTTP/1.0\r\n\r\n"),
        (Side::Server, b"HTTP/1.0 200 OK\r\n\r\nto the end"),
    ];
    for piece in [1, 5, 1000] {
        let http = talk(&parts, piece);
        let methods: Vec<&str> = http.requests().iter().map(|m| &*m.method).collect();
        assert_eq!(methods, ["POST", "HEAD", "GET"], "{piece}");
        assert_eq!(http.requests()[0].end, Some(post.len() as u64));
        let responses = http.responses();
        let told: Vec<_> = responses
            .iter()
            .map(|m| (m.status, m.end.is_some()))
            .collect();
        assert_eq!(
            told,
            [(100, true), (200, true), (200, true), (200, false)],
            "{piece}"
        );
        assert_eq!(responses[1].end, Some(responses[2].start));
        assert_eq!(responses[2].head_end, responses[2].end.unwrap());
    }
}

#[test]
fn a_body_that_was_not_kept_is_skipped_and_a_head_is_not() {
    let mut http = talk(
        &[
            (Side::Client, b"GET / HTTP/1.1\r\n\r\n".as_slice()),
            (
                Side::Server,
                b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n",
            ),
        ],
        1000,
    );
    http.take(Side::Server, Piece::Unknown(50));
    assert!(http.responses()[0].end.is_some());
    http.take(Side::Server, Piece::Unknown(1));
    http.take(Side::Server, Piece::Bytes(b"e\r\n\r\nits body"));
    assert_eq!(http.responses().len(), 1);
    assert!(http.misses_answers());
    http.take(Side::Server, Piece::Bytes(b"HTTP/1.1 200 OK\r\n\r\n"));
    assert_eq!(http.responses().len(), 2);
}

#[test]
fn long_heads_count_as_memory() {
    let head = |value: &str| format!("GET / HTTP/1.1\r\nCookie: {value}\r\n\r\n");
    let (short, long) = (head("a"), head(&"a".repeat(50_000)));
    let weight = |request: &str| talk(&[(Side::Client, request.as_bytes())], 1_000).held();
    assert!(weight(&long) > weight(&short) + 49_000);
}

#[test]
fn other_protocols_are_not_taken_for_it() {
    assert!(Http1::recognises(b"GET /x HTTP/1.1\r\nHo"));
    for other in [
        b"EHLO example\r\n".as_slice(),
        b"\x16\x03\x01",
        b"GET x",
        b"",
    ] {
        assert!(!Http1::recognises(other), "{other:?}");
    }
}

/// Real programs receive such heads, and continue.
#[test]
fn heads_that_no_grammar_allows_are_read_as_far_as_they_can_be() {
    let get = b"GET /a?b c HTTP/1.0.8\r\nHost : x\r\n\r\n".as_slice();
    let folded = b"HTTP/1.1 200 ok\r\nnonsense\r\nX: a\r\n b\r\nContent-Length:\r\n 2\r\n\r\nhi";
    let http = talk(&[(Side::Client, get), (Side::Server, folded)], 1_000);
    let [request] = http.requests() else {
        panic!("{http:?}")
    };
    let asked = (request.method.as_str(), request.target.as_str());
    assert_eq!((asked, request.version), (("GET", "/a?b c"), "1.0"));
    assert_eq!(request.field("host"), Some(b"x".as_slice()));
    let [response] = http.responses() else {
        panic!("{http:?}")
    };
    assert_eq!((response.status, response.reason.as_str()), (200, "ok"));
    assert_eq!(response.field("x"), Some(b"a b".as_slice()));
    assert_eq!(response.end, Some(folded.len() as u64));
    let other = b"HTTP/1.1 OK\r\nnonsense\r\n\r\n".as_slice();
    let http = talk(&[(Side::Server, other)], 1_000);
    assert!(http.responses().is_empty());
}
