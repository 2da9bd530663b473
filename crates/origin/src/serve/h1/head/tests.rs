//! Heads that are complete, in pieces, ambiguous or meaningless.

use proptest::prelude::*;

use super::*;

fn read(bytes: &[u8]) -> Result<Option<H1RequestHead>, BadHead> {
    take(&mut BytesMut::from(bytes), &mut 0, false)
}

fn status(bytes: &[u8]) -> u16 {
    read(bytes).map_or_else(|bad| bad.0.as_u16(), |_| 0)
}

#[test]
fn a_head_is_read_and_taken_off() {
    let mut input = BytesMut::from(
        &b"\r\nPOST /echo?a=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET"[..],
    );
    let head = take(&mut input, &mut 0, true).unwrap().unwrap();
    assert_eq!(head.request.method, Method::POST);
    assert_eq!(head.request.uri, "/echo?a=1");
    assert_eq!(head.framing, BodyFraming::Length(3));
    assert!(head.persistent && head.request.secure);
    assert_eq!(&input[..], b"abcGET");
}

#[test]
fn it_does_not_matter_how_the_bytes_arrive() {
    let whole = b"GET / HTTP/1.1\r\nHost: x\r\nEmpty:\r\n\r\n";
    let mut input = BytesMut::new();
    let mut scanned = 0;
    for (at, byte) in whole.iter().enumerate() {
        input.extend_from_slice(&[*byte]);
        let head = take(&mut input, &mut scanned, false).unwrap();
        assert_eq!(head.is_some(), at + 1 == whole.len());
    }
    assert!(read(b"GET / HTTP/1.1\nHost: x\n\n").unwrap().is_some());
}

#[test]
fn versions_decide_how_long_a_connection_lives() {
    let persistent = |head: &[u8]| read(head).unwrap().unwrap().persistent;
    assert!(!persistent(b"GET / HTTP/1.0\r\n\r\n"));
    assert!(persistent(
        b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"
    ));
    assert!(persistent(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert!(!persistent(
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: te, Close\r\n\r\n"
    ));
}

#[test]
fn ambiguous_heads_are_refused() {
    let post =
        |lines: &str| status(format!("POST / HTTP/1.1\r\nHost: x\r\n{lines}\r\n\r\n").as_bytes());
    assert_eq!(post("Content-Length: 3"), 0);
    assert_eq!(post("Content-Length: 3\r\nContent-Length: 3"), 0);
    assert_eq!(post("Content-Length: 3\r\nContent-Length: 4"), 400);
    assert_eq!(post("Content-Length: 3\r\nTransfer-Encoding: chunked"), 400);
    assert_eq!(post("Content-Length: +3"), 400);
    assert_eq!(post("Content-Length: 3, 3"), 400);
    assert_eq!(post("Content-Length: 99999999999999999999"), 400);
    assert_eq!(post("Transfer-Encoding: Chunked"), 0);
    assert_eq!(post("Transfer-Encoding: gzip, chunked"), 501);
    assert_eq!(post("Host: y"), 400);
    assert_eq!(status(b"GET / HTTP/1.1\r\n\r\n"), 400);
    assert_eq!(status(b"GET / HTTP/2.0\r\nHost: x\r\n\r\n"), 505);
    assert_eq!(status(b"\x16\x03\x01\x02\x00\x01\n\n"), 400);
}

#[test]
fn heads_have_a_limit() {
    let mut long = b"GET / HTTP/1.1\r\nHost: x\r\nLong: ".to_vec();
    long.resize(MAX_HEAD_BYTES + 10, b'x');
    assert_eq!(status(&long), 431);
    let mut many = "GET / HTTP/1.1\r\nHost: x\r\n".to_owned();
    many.push_str(&"a: b\r\n".repeat(MAX_HEADERS + 1));
    many.push_str("\r\n");
    assert_eq!(status(many.as_bytes()), 431);
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
    }

    #[test]
    fn no_lines_are_too_strange(lines in prop::collection::vec("[ -~\t]{0,30}", 0..6), method in "[A-Z]{1,7}", path in "[!-~]{1,20}") {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{}\r\n\r\n", lines.join("\r\n"));
        let _ = read(head.as_bytes());
    }
}
