//! The client side of HTTP/1.1. RFC 9112.

mod head;

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use roundtrip_model::HttpFacts;
use roundtrip_wire::http1::{ChunkError, Chunked, ChunkedLimits, Strictness};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::body::ReceivedBody;
use crate::error::is_reset;
use crate::response::{MAX_HEAD_SIZE, MAX_INTERIM};
use crate::{ByteStream, HttpError, Request, RequestRecorder, RequestRun};
pub use head::response_head;
use head::{AnswerLength, ParsedHead};

/// How long to wait for `100 Continue` before the body is sent anyway; curl waits as long.
const CONTINUE_WAIT: Duration = Duration::from_secs(1);
/// The room for one read.
const READ_SIZE: usize = 16 * 1024;
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
    facts.asked_proxy = request.absolute_form;
    let mut reader = ResponseReader {
        stream,
        buffer: Vec::new(),
        recorder: &run.recorder,
        begun: false,
        was_reset: false,
        is_cut: false,
    };
    let head = match reader.send(request, facts).await? {
        Some(early) => early,
        None => reader.final_head(facts).await?,
    };
    run.recorder.answered();
    let framing = head.framing(&request.method)?;
    head.describe(facts, &framing);
    // The server would take the next request for the rest of this one. RFC 9112 §9.3.
    facts.keep_alive &= facts.uploaded == request.body.len() as u64;
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
    /// Whether the first byte of the response is on the timeline already, or what is read now is
    /// not the response yet.
    begun: bool,
    /// The peer reset the connection while the request was sent; reading may not show that.
    was_reset: bool,
    /// The stream ended without TLS's close_notify.
    is_cut: bool,
}

impl ResponseReader<'_> {
    /// Sends head and body, and reads meanwhile. A final head that comes first ends the request and
    /// is returned.
    async fn send(
        &mut self,
        request: &Request,
        facts: &mut HttpFacts,
    ) -> Result<Option<ParsedHead>, HttpError> {
        let head = request.head()?;
        facts.request_bytes = head.len() as u64;
        self.recorder.started();
        // What is read before the request has left is not the first byte of its answer, unless it
        // is the final head: a `100 Continue` answers the head.
        self.begun = true;
        if request.expects_continue() {
            if let Some(early) = self.write(head.as_bytes(), facts).await?.1 {
                return Ok(Some(early));
            }
            let began = self.recorder.now();
            let first = timeout(CONTINUE_WAIT, self.head(facts)).await;
            facts.continue_wait = Some(self.recorder.now().since(began));
            if let Some(early) = first.ok().transpose()?.filter(ParsedHead::is_final) {
                self.ended_by_answer();
                return Ok(Some(early));
            }
            let (sent, early) = self.write(&request.body, facts).await?;
            facts.uploaded = sent as u64;
            if early.is_some() {
                return Ok(early);
            }
        } else {
            // Head and body leave in one write: two small ones meet Nagle and delayed
            // acknowledgements.
            let mut whole = head.into_bytes();
            let head_size = whole.len();
            whole.extend_from_slice(&request.body);
            let (sent, early) = self.write(&whole, facts).await?;
            facts.uploaded = sent.saturating_sub(head_size) as u64;
            if early.is_some() {
                return Ok(early);
            }
        }
        self.begun = false;
        self.recorder.departed();
        Ok(None)
    }

    /// Writes all bytes, unless a final head comes first. Returns how many were written, and that
    /// head.
    async fn write(
        &mut self,
        bytes: &[u8],
        facts: &mut HttpFacts,
    ) -> Result<(usize, Option<ParsedHead>), HttpError> {
        let mut rest = bytes;
        loop {
            while let Some(head) = self.parsed(facts)? {
                if head.is_final() {
                    self.ended_by_answer();
                    return Ok((bytes.len() - rest.len(), Some(head)));
                }
            }
            let (stream, buffer) = (&mut *self.stream, &mut self.buffer);
            match poll_fn(|cx| poll_step(stream, cx, &mut rest, buffer)).await {
                Step::Sent => return Ok((bytes.len(), None)),
                Step::Received(got) => {
                    if self.read(got)? == 0 {
                        return Err(self.closed());
                    }
                }
                Step::Broken(error) => {
                    self.was_reset = is_reset(&error);
                    // The server may have answered before it closed the connection.
                    let answer = self.final_head(facts).await;
                    let head = answer.map_err(|ended| match ended {
                        HttpError::ClosedUnanswered
                        | HttpError::ClosedInHead
                        | HttpError::Io(_) => error.into(),
                        said => said,
                    })?;
                    self.ended_by_answer();
                    return Ok((bytes.len() - rest.len(), Some(head)));
                }
            }
        }
    }

    /// Records that the answer ended the request. Its head is what arrived last.
    fn ended_by_answer(&self) {
        self.recorder.departed_until(self.recorder.last_arrival());
        self.recorder.arrived();
    }

    async fn final_head(&mut self, facts: &mut HttpFacts) -> Result<ParsedHead, HttpError> {
        loop {
            let head = self.head(facts).await?;
            if head.is_final() {
                return Ok(head);
            }
        }
    }

    async fn head(&mut self, facts: &mut HttpFacts) -> Result<ParsedHead, HttpError> {
        loop {
            if let Some(head) = self.parsed(facts)? {
                return Ok(head);
            }
            if self.fill().await? == 0 {
                return Err(self.closed());
            }
        }
    }

    /// Takes the next head from what was read, if all of it is there.
    fn parsed(&mut self, facts: &mut HttpFacts) -> Result<Option<ParsedHead>, HttpError> {
        let Some((head, length)) = response_head(&self.buffer)? else {
            let limit = MAX_HEAD_SIZE;
            return if self.buffer.len() < limit {
                Ok(None)
            } else {
                Err(HttpError::HeadTooLarge { limit })
            };
        };
        self.buffer.drain(..length);
        facts.header_bytes += length as u64;
        if head.status < 200 {
            facts.interim.push(head.status);
        }
        if !head.is_final() && facts.interim.len() > MAX_INTERIM {
            return Err(HttpError::TooManyInterim(MAX_INTERIM));
        }
        Ok(Some(head))
    }

    /// The peer closed the connection before its answer was complete.
    fn closed(&self) -> HttpError {
        if self.buffer.is_empty() {
            HttpError::ClosedUnanswered
        } else {
            HttpError::ClosedInHead
        }
    }

    /// Evaluates a read. Zero is the end of the stream, with or without an announcement by TLS.
    fn read(&mut self, got: io::Result<usize>) -> io::Result<usize> {
        match got {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.is_cut = true;
                Ok(0)
            }
            got => got,
        }
    }

    async fn fill(&mut self) -> Result<usize, HttpError> {
        self.buffer.reserve(READ_SIZE);
        let got = self.stream.read_buf(&mut self.buffer).await;
        let n = self.read(got)?;
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
                    body.facts.is_cut = self.is_cut;
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

    /// Reads more of a body after its first `got` bytes. If the peer reset the connection, the
    /// error says so.
    async fn fill_body(&mut self, got: u64, expected: Option<u64>) -> Result<usize, HttpError> {
        let outcome = self.fill().await;
        let is_reset = match &outcome {
            Err(HttpError::Io(error)) => is_reset(error),
            Ok(0) => self.was_reset,
            _ => false,
        };
        if is_reset {
            let what = "connection".into();
            return Err(HttpError::BodyReset {
                what,
                got,
                expected,
            });
        }
        outcome
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

/// What happened first while a request was sent.
enum Step {
    Sent,
    Received(io::Result<usize>),
    Broken(io::Error),
}

/// Writes `rest` and flushes it. Reads after each part that was written, and whenever the stream
/// takes no more.
fn poll_step(
    stream: &mut dyn ByteStream,
    cx: &mut Context<'_>,
    rest: &mut &[u8],
    buffer: &mut Vec<u8>,
) -> Poll<Step> {
    loop {
        let written = if rest.is_empty() {
            Pin::new(&mut *stream).poll_flush(cx).map_ok(|()| 0)
        } else {
            Pin::new(&mut *stream).poll_write(cx, rest)
        };
        match written {
            Poll::Ready(Ok(0)) if rest.is_empty() => return Poll::Ready(Step::Sent),
            Poll::Ready(Ok(0)) => {
                return Poll::Ready(Step::Broken(io::ErrorKind::WriteZero.into()));
            }
            Poll::Ready(Ok(n)) => *rest = rest.get(n..).unwrap_or_default(),
            Poll::Ready(Err(error)) => return Poll::Ready(Step::Broken(error)),
            Poll::Pending => {}
        }
        if rest.is_empty() && written.is_ready() {
            continue;
        }
        buffer.reserve(READ_SIZE);
        match pin!(stream.read_buf(buffer)).poll(cx) {
            Poll::Ready(got) => return Poll::Ready(Step::Received(got)),
            Poll::Pending if written.is_pending() => return Poll::Pending,
            Poll::Pending => {}
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
