//! The client side of HTTP/1.1. RFC 9112.

mod head;

use std::time::Duration;

use roundtrip_model::HttpFacts;
use roundtrip_wire::http1::{ChunkError, Chunked, ChunkedLimits, Strictness};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::body::ReceivedBody;
use crate::error::is_reset;
use crate::response::{MAX_HEAD_SIZE, MAX_INTERIM};
use crate::{ByteStream, HttpError, Request, RequestRecorder, RequestRun};
pub use head::response_head;
use head::{AnswerLength, ParsedHead};

/// How long to wait for `100 Continue` before the body is sent anyway; curl waits as long.
const CONTINUE_WAIT: Duration = Duration::from_secs(1);
const CHUNK_LIMITS: ChunkedLimits = ChunkedLimits {
    size_digits: 15,
    line: 8 * 1024,
    // No limit on trailers.
    trailers: u32::MAX,
    section: 0,
};

/// One request and its response over an open stream.
pub(crate) async fn exchange(
    stream: &mut dyn ByteStream,
    run: RequestRun<'_>,
) -> Result<(), HttpError> {
    let (request, facts) = (run.request, run.facts);
    facts.method.clone_from(&request.method);
    let mut reader = ResponseReader {
        stream,
        buffer: Vec::new(),
        recorder: &run.recorder,
        begun: false,
    };
    let interim = reader.send(request, facts).await?;
    let head = match interim {
        Some(head) if head.status >= 200 => head,
        _ => reader.final_head(facts).await?,
    };
    run.recorder.answered();
    let framing = head.framing(&request.method)?;
    head.describe(facts, &framing);
    let mut body = ReceivedBody::new(facts, run.decode, run.sink);
    reader.body(&framing, &mut body).await?;
    // Unrequested bytes would be taken for the next response.
    body.facts.keep_alive &= reader.buffer.is_empty();
    body.finish()
}

struct ResponseReader<'a> {
    stream: &'a mut dyn ByteStream,
    buffer: Vec<u8>,
    recorder: &'a RequestRecorder,
    /// The first byte of the response is on the timeline.
    begun: bool,
}

impl ResponseReader<'_> {
    /// Sends head and body. With `Expect: 100-continue`, whatever came before the body is returned.
    async fn send(
        &mut self,
        request: &Request,
        facts: &mut HttpFacts,
    ) -> Result<Option<ParsedHead>, HttpError> {
        let head = request.head()?;
        facts.request_bytes = head.len() as u64;
        self.recorder.started();
        let mut early_answer = None;
        if request.expects_continue() {
            self.stream.write_all(head.as_bytes()).await?;
            self.stream.flush().await?;
            // A `100 Continue` answers the head, not the request: it does not count as the first
            // byte.
            self.begun = true;
            let began = self.recorder.now();
            early_answer = timeout(CONTINUE_WAIT, self.head(facts))
                .await
                .ok()
                .transpose()?;
            facts.continue_wait = Some(self.recorder.now().since(began));
            if early_answer.as_ref().is_some_and(|h| h.status >= 200) {
                self.recorder.departed();
                self.recorder.arrived();
                return Ok(early_answer);
            }
            self.begun = false;
            self.stream.write_all(&request.body).await?;
        } else {
            // Head and body leave in one write: two small ones meet Nagle and delayed
            // acknowledgements.
            let mut whole = head.into_bytes();
            whole.extend_from_slice(&request.body);
            self.stream.write_all(&whole).await?;
        }
        self.stream.flush().await?;
        facts.uploaded = request.body.len() as u64;
        self.recorder.departed();
        Ok(early_answer)
    }

    async fn final_head(&mut self, facts: &mut HttpFacts) -> Result<ParsedHead, HttpError> {
        loop {
            let head = self.head(facts).await?;
            // 101 is final: the connection belongs to another protocol now. RFC 9110 §15.2.2.
            if head.status >= 200 || head.status == 101 {
                return Ok(head);
            }
            if facts.interim.len() > MAX_INTERIM {
                return Err(HttpError::TooManyInterim(MAX_INTERIM));
            }
        }
    }

    async fn head(&mut self, facts: &mut HttpFacts) -> Result<ParsedHead, HttpError> {
        loop {
            if let Some((head, length)) = response_head(&self.buffer)? {
                self.buffer.drain(..length);
                facts.header_bytes += length as u64;
                if head.status < 200 {
                    facts.interim.push(head.status);
                }
                return Ok(head);
            }
            if self.buffer.len() >= MAX_HEAD_SIZE {
                return Err(HttpError::HeadTooLarge {
                    limit: MAX_HEAD_SIZE,
                });
            }
            if self.fill().await? == 0 {
                return Err(if self.buffer.is_empty() {
                    HttpError::ClosedUnanswered
                } else {
                    HttpError::ClosedInHead
                });
            }
        }
    }

    async fn fill(&mut self) -> Result<usize, HttpError> {
        self.buffer.reserve(16 * 1024);
        let n = self.stream.read_buf(&mut self.buffer).await?;
        if n > 0 && !self.begun {
            self.begun = true;
            self.recorder.arrived();
        }
        Ok(n)
    }

    async fn body(
        &mut self,
        framing: &AnswerLength,
        body: &mut ReceivedBody<'_>,
    ) -> Result<(), HttpError> {
        match framing {
            AnswerLength::None => Ok(()),
            AnswerLength::Length(expected) => self.body_of_length(*expected, body).await,
            AnswerLength::Chunked => self.body_in_chunks(body).await,
            AnswerLength::UntilClose => loop {
                body.take(&self.buffer)?;
                body.settle().await?;
                self.buffer.clear();
                if self.fill_body(body.downloaded(), None).await? == 0 {
                    return Ok(());
                }
            },
        }
    }

    async fn body_of_length(
        &mut self,
        expected: u64,
        body: &mut ReceivedBody<'_>,
    ) -> Result<(), HttpError> {
        while body.downloaded() < expected {
            let got = body.downloaded();
            if self.buffer.is_empty() && self.fill_body(got, Some(expected)).await? == 0 {
                return Err(HttpError::BodyCutShort { got, expected });
            }
            let want = (expected - body.downloaded()).min(self.buffer.len() as u64) as usize;
            body.take(self.buffer.get(..want).unwrap_or_default())?;
            body.settle().await?;
            self.buffer.drain(..want);
        }
        Ok(())
    }

    /// Reads more of a body of which `got` bytes have come. If the peer reset the connection, the
    /// error says so.
    async fn fill_body(&mut self, got: u64, expected: Option<u64>) -> Result<usize, HttpError> {
        match self.fill().await {
            Err(HttpError::Io(error)) if is_reset(&error) => Err(HttpError::BodyReset {
                what: "connection".into(),
                got,
                expected,
            }),
            outcome => outcome,
        }
    }

    async fn body_in_chunks(&mut self, body: &mut ReceivedBody<'_>) -> Result<(), HttpError> {
        let mut chunked = Chunked::new(Strictness::AsCurl, CHUNK_LIMITS);
        loop {
            let used = chunked.feed(&self.buffer, |data| body.take(data))?;
            body.settle().await?;
            self.buffer.drain(..used);
            if chunked.is_done() {
                return Ok(());
            }
            let got = body.downloaded();
            if self.fill_body(got, None).await? == 0 {
                return Err(HttpError::ChunksCutShort { got });
            }
        }
    }
}

impl From<ChunkError> for HttpError {
    fn from(error: ChunkError) -> Self {
        Self::Malformed(match error {
            ChunkError::Size | ChunkError::Extension => "a chunk's size",
            ChunkError::LongLine | ChunkError::Trailers => "a chunk's size line",
            ChunkError::End => "a chunk's end",
        })
    }
}
