//! One request and response of HTTP/1.x as an [`HttpExchange`]: frames bodies, and sends the head
//! and a small body in one write.

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, StatusCode, Version, header};
use roundtrip_wire::http1::{Chunked, ChunkedLimits, Strictness};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::head::{BodyFraming, H1RequestHead};
use crate::serve::{AnswerError, HttpExchange};

/// Up to this size, bytes are copied together to leave in one write. Larger ones are written
/// without a copy.
const GATHERED: usize = 8 * 1024;
const READ: usize = 32 * 1024;
const CHUNK_LIMITS: ChunkedLimits = ChunkedLimits {
    size_digits: 16,
    line: 4096,
    trailers: 64,
    // Trailers are skipped.
    section: 0,
};

/// A connection's stream with its buffers.
#[derive(Debug)]
pub(super) struct BufferedStream<IO> {
    pub(super) io: IO,
    pub(super) input: BytesMut,
    output: BytesMut,
}

impl<IO> BufferedStream<IO> {
    pub(super) fn new(io: IO, input: BytesMut) -> Self {
        Self {
            io,
            input,
            output: BytesMut::new(),
        }
    }
}

#[derive(Debug)]
pub(super) struct H1Exchange<'a, IO> {
    wires: &'a mut BufferedStream<IO>,
    incoming: RequestBody,
    outgoing: ResponseFraming,
    /// Whether the version is HTTP/1.0, which has neither chunks nor 1xx.
    old: bool,
    /// Whether the connection continues, as far as the client and the knobs are concerned.
    keep: bool,
}

/// The rest of the request's body.
#[derive(Debug)]
enum RequestBody {
    Length(u64),
    Chunked(Chunked),
}

/// How the response's body is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseFraming {
    /// Framed by Content-Length, or without a body.
    Length,
    Chunked,
    /// Framed by the end of the connection.
    ToEnd,
}

impl<'a, IO> H1Exchange<'a, IO> {
    pub(super) fn new(wires: &'a mut BufferedStream<IO>, head: &H1RequestHead, keep: bool) -> Self {
        Self {
            wires,
            incoming: match head.framing {
                BodyFraming::Length(n) => RequestBody::Length(n),
                BodyFraming::Chunked => {
                    RequestBody::Chunked(Chunked::new(Strictness::Tolerant, CHUNK_LIMITS))
                }
            },
            outgoing: ResponseFraming::Length,
            old: head.request.version == Version::HTTP_10,
            keep,
        }
    }

    /// Makes the turn for an answer to bytes that were not a request.
    pub(super) fn unasked(wires: &'a mut BufferedStream<IO>) -> Self {
        Self {
            wires,
            incoming: RequestBody::Length(0),
            outgoing: ResponseFraming::Length,
            old: false,
            keep: false,
        }
    }

    /// Whether the connection continues after the answer.
    pub(super) fn is_persistent(&self) -> bool {
        self.keep && self.is_read() && self.outgoing != ResponseFraming::ToEnd
    }

    fn is_read(&self) -> bool {
        match &self.incoming {
            RequestBody::Length(left) => *left == 0,
            RequestBody::Chunked(chunked) => chunked.is_done(),
        }
    }

    fn write_head(&mut self, status: StatusCode, headers: &HeaderMap) {
        let output = &mut self.wires.output;
        output.reserve(512);
        output.extend_from_slice(b"HTTP/1.1 ");
        output.extend_from_slice(status.as_str().as_bytes());
        output.extend_from_slice(b" ");
        let reason = status.canonical_reason().unwrap_or_default();
        output.extend_from_slice(reason.as_bytes());
        output.extend_from_slice(b"\r\n");
        for (name, value) in headers {
            output.extend_from_slice(name.as_str().as_bytes());
            output.extend_from_slice(b": ");
            output.extend_from_slice(value.as_bytes());
            output.extend_from_slice(b"\r\n");
        }
    }

    /// Writes the framing and connection headers, then the end of the head.
    fn write_framing(&mut self, headers: &HeaderMap, bodiless: bool) {
        self.outgoing = match (bodiless, self.old) {
            _ if headers.contains_key(header::CONTENT_LENGTH) => ResponseFraming::Length,
            (true, _) => ResponseFraming::Length,
            (false, true) => ResponseFraming::ToEnd,
            (false, false) => ResponseFraming::Chunked,
        };
        let keep = self.is_persistent();
        let output = &mut self.wires.output;
        if self.outgoing == ResponseFraming::Chunked {
            output.extend_from_slice(b"transfer-encoding: chunked\r\n");
        }
        if !keep {
            output.extend_from_slice(b"connection: close\r\n");
        } else if self.old {
            output.extend_from_slice(b"connection: keep-alive\r\n");
        }
        output.extend_from_slice(b"\r\n");
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin + Send> H1Exchange<'_, IO> {
    /// Writes the collected bytes and then `bytes`, in one vectored write if the stream supports
    /// it.
    async fn write_with(&mut self, bytes: Bytes, tail: &'static [u8]) -> Result<(), AnswerError> {
        let gathered = self.wires.output.split().freeze();
        let mut all = gathered.chain(bytes).chain(tail);
        self.wires
            .io
            .write_all_buf(&mut all)
            .await
            .map_err(|_| AnswerError::Gone)
    }

    async fn fill(&mut self) -> Result<(), AnswerError> {
        let input = &mut self.wires.input;
        input.reserve(READ);
        match self.wires.io.read_buf(input).await {
            Ok(n) if n > 0 => Ok(()),
            _ => Err(AnswerError::Gone),
        }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin + Send> HttpExchange for H1Exchange<'_, IO> {
    async fn receive(&mut self) -> Result<Option<Bytes>, AnswerError> {
        loop {
            let input = &mut self.wires.input;
            match &mut self.incoming {
                RequestBody::Length(0) => return Ok(None),
                RequestBody::Length(left) if !input.is_empty() => {
                    let n = usize::try_from(*left).unwrap_or(usize::MAX);
                    let n = n.min(input.len());
                    *left -= n as u64;
                    return Ok(Some(input.split_to(n).freeze()));
                }
                RequestBody::Length(_) => {}
                RequestBody::Chunked(chunked) => {
                    let data = chunked.next(input).map_err(|_| AnswerError::Gone)?;
                    if !data.is_empty() {
                        input.advance(data.start);
                        return Ok(Some(input.split_to(data.len()).freeze()));
                    }
                    input.advance(data.end);
                    if chunked.is_done() {
                        return Ok(None);
                    }
                }
            }
            self.fill().await?;
        }
    }

    async fn inform(&mut self, status: StatusCode, headers: HeaderMap) -> Result<(), AnswerError> {
        // RFC 9110, section 15.2: none to a client of HTTP/1.0. A client that has sent its whole
        // body needs no 100 either.
        let needless = status == StatusCode::CONTINUE && self.is_read();
        if self.old || needless {
            return Ok(());
        }
        self.write_head(status, &headers);
        self.wires.output.extend_from_slice(b"\r\n");
        self.flush().await
    }

    async fn head(
        &mut self,
        status: StatusCode,
        headers: HeaderMap,
        bodiless: bool,
    ) -> Result<(), AnswerError> {
        self.write_head(status, &headers);
        self.write_framing(&headers, bodiless);
        Ok(())
    }

    async fn half_head(
        &mut self,
        status: StatusCode,
        headers: HeaderMap,
    ) -> Result<(), AnswerError> {
        self.write_head(status, &headers);
        let half = self.wires.output.len() / 2;
        self.wires.output.truncate(half);
        self.flush().await
    }

    async fn piece(&mut self, bytes: Bytes, last: bool) -> Result<(), AnswerError> {
        let chunked = self.outgoing == ResponseFraming::Chunked;
        if chunked {
            let size = format!("{:x}\r\n", bytes.len());
            self.wires.output.extend_from_slice(size.as_bytes());
        }
        let tail: &[u8] = match (chunked, last) {
            (false, _) => b"",
            (true, false) => b"\r\n",
            (true, true) => b"\r\n0\r\n\r\n",
        };
        if self.wires.output.len() + bytes.len() <= GATHERED {
            self.wires.output.extend_from_slice(&bytes);
            self.wires.output.extend_from_slice(tail);
            return Ok(());
        }
        self.write_with(bytes, tail).await
    }

    async fn flush(&mut self) -> Result<(), AnswerError> {
        if !self.wires.output.is_empty() {
            self.write_with(Bytes::new(), b"").await?;
        }
        self.wires.io.flush().await.map_err(|_| AnswerError::Gone)
    }
}

#[cfg(test)]
mod tests;
