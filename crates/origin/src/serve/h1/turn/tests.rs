//! Which parts of an answer leave in one write, and how it is framed.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;

use super::*;
use crate::serve::h1::head;

/// Accepts everything, and remembers where each write ended.
#[derive(Debug, Default)]
struct Sink(Vec<Vec<u8>>);

impl AsyncRead for Sink {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Sink {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.push(bytes.to_vec());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let all: Vec<u8> = parts.iter().flat_map(|part| part.to_vec()).collect();
        let n = all.len();
        self.0.push(all);
        Poll::Ready(Ok(n))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Answers a request with a body, and returns the writes.
async fn answer(request: &str, body: &[u8], sized: bool) -> Vec<String> {
    let mut input = BytesMut::from(request);
    let head = head::take(&mut input, &mut 0, false).unwrap().unwrap();
    let mut wires = BufferedStream::new(Sink::default(), input);
    let mut turn = H1Exchange::new(&mut wires, &head, head.persistent);
    let mut headers = HeaderMap::new();
    if sized {
        headers.insert(header::CONTENT_LENGTH, body.len().into());
    }
    turn.head(StatusCode::OK, headers, false).await.unwrap();
    turn.piece(Bytes::copy_from_slice(body), true)
        .await
        .unwrap();
    turn.flush().await.unwrap();
    let writes = wires.io.0.into_iter();
    writes.map(|w| String::from_utf8(w).unwrap()).collect()
}

const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

#[tokio::test]
async fn head_and_body_leave_in_one_write() {
    for size in [1, 1_000, 60_000] {
        let writes = answer(GET, &vec![b'x'; size], true).await;
        assert_eq!(writes.len(), 1, "{size}");
        let expected = format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\n\r\nx");
        assert!(writes[0].starts_with(&expected));
    }
}

#[tokio::test]
async fn the_framing_is_the_version_s() {
    let chunked = answer(GET, b"hello", false).await.concat();
    assert!(chunked.ends_with("transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"));
    let old = answer(
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        b"hello",
        false,
    );
    assert!(
        old.await
            .concat()
            .ends_with("connection: close\r\n\r\nhello")
    );
    let kept = answer(
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        b"hello",
        true,
    );
    assert!(
        kept.await
            .concat()
            .ends_with("connection: keep-alive\r\n\r\nhello")
    );
}

#[tokio::test]
async fn an_unread_body_ends_the_connection() {
    let post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n";
    let said = answer(post, b"no", true).await.concat();
    assert!(said.contains("connection: close"), "{said}");
}
