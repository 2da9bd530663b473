//! Reads the answer: interim heads, the head, the body and its trailers, in HTTP/1.1's form.

use std::future::poll_fn;
use std::io::{self, Write};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use h2::RecvStream;
use h2::client::ResponseFuture;
use tokio::io::ReadBuf;
use tokio::time::timeout;

use super::frames::SMALL;
use super::gathered::GatheredData;
use super::standing::H2Standing;
use super::{broken, head, invalid};
use crate::forward::h1::{Trailers, write_last_chunk};

/// How long to wait for END_STREAM after the last data.
const END_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct UpstreamAnswer {
    state: AnswerState,
    /// Heads and chunk framing that are still to be read.
    heads: Vec<u8>,
    /// The number of those bytes that have been read.
    read: usize,
    /// Data of the body that has been taken from the library early.
    gathered: GatheredData,
}

#[derive(Debug)]
enum AnswerState {
    /// There is no request yet; a waiting reader is woken when there is one.
    Unasked(Option<Waker>),
    Awaited(ResponseFuture),
    Body(RecvStream, Bytes, AnswerFraming),
    /// Everything that arrived has been written.
    Ended,
}

/// How the body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerFraming {
    /// The body has the length that the server announced.
    Counted,
    /// The body is sent in chunks; none has begun yet.
    Chunks,
    /// The body is sent in chunks; the line end after one must be written.
    Chunk,
}

impl Default for UpstreamAnswer {
    fn default() -> Self {
        Self {
            state: AnswerState::Unasked(None),
            heads: Vec::new(),
            read: 0,
            gathered: GatheredData::default(),
        }
    }
}

impl UpstreamAnswer {
    pub(super) fn begin(&mut self, response: ResponseFuture) {
        let before = std::mem::replace(&mut self.state, AnswerState::Awaited(response));
        if let AnswerState::Unasked(Some(waker)) = before {
            waker.wake();
        }
    }

    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
        standing: &H2Standing,
    ) -> Poll<io::Result<()>> {
        loop {
            let before = into.filled().len();
            let heads = self.heads.get(self.read..).unwrap_or_default();
            self.read += put(heads, into);
            if let AnswerState::Body(stream, rest, _) = &mut self.state
                && !rest.is_empty()
                && self.heads.len() == self.read
            {
                let n = put(rest, into);
                rest.advance(n);
                // Only bytes that an exchange has taken are released to the window, so a slow
                // reader needs no buffer.
                let _ = stream.flow_control().release_capacity(n);
            }
            if into.filled().len() > before || into.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            if !ready!(self.poll_more(cx, standing))? {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Takes what the library has received, while the client takes nothing. Ends, trailers and
    /// errors stay in the library.
    pub(super) fn gather(&mut self, cx: &mut Context<'_>, standing: &H2Standing) {
        if let AnswerState::Body(stream, ..) = &mut self.state {
            while let Poll::Ready(Some(Ok(data))) = poll_data(stream, cx, standing) {
                self.gathered.push(data);
            }
        }
    }

    /// Continues reading after the exchange has read the announced length: the server's END_STREAM
    /// may come separately, and must not cause a reset.
    pub(super) async fn end(mut self) {
        if let AnswerState::Body(stream, rest, _) = &mut self.state
            && rest.is_empty()
            && !stream.is_end_stream()
        {
            let end = poll_fn(|cx| stream.poll_data(cx));
            let _ = timeout(END_TIMEOUT, end).await;
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        match &self.state {
            AnswerState::Body(stream, rest, _) => {
                rest.is_empty() && self.gathered.is_empty() && stream.is_end_stream()
            }
            AnswerState::Ended => true,
            AnswerState::Unasked(_) | AnswerState::Awaited(_) => false,
        }
    }

    /// Returns `false` at the end.
    fn poll_more(&mut self, cx: &mut Context<'_>, standing: &H2Standing) -> Poll<io::Result<bool>> {
        match &mut self.state {
            AnswerState::Unasked(waker) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
            AnswerState::Awaited(response) => {
                self.heads.clear();
                self.read = 0;
                if let Some(interim) = ready!(response.poll_informational(cx)) {
                    let interim = interim.map_err(broken)?;
                    // RFC 9113 §8.6: HTTP/2 has no 101.
                    if interim.status().as_u16() == 101 {
                        return Poll::Ready(Err(invalid("101 over HTTP/2")));
                    }
                    head::answer(
                        interim.status().as_u16(),
                        interim.headers(),
                        &mut self.heads,
                    );
                    return Poll::Ready(Ok(true));
                }
                let response = ready!(std::pin::Pin::new(response).poll(cx)).map_err(broken)?;
                let (parts, body) = response.into_parts();
                let chunks = head::answer(parts.status.as_u16(), &parts.headers, &mut self.heads);
                self.state = if chunks && body.is_end_stream() {
                    // The head carried END_STREAM, so the reader gets the end now.
                    write_last_chunk(&mut self.heads, &Trailers::default());
                    AnswerState::Ended
                } else {
                    let framing = if chunks {
                        AnswerFraming::Chunks
                    } else {
                        AnswerFraming::Counted
                    };
                    AnswerState::Body(body, Bytes::new(), framing)
                };
                Poll::Ready(Ok(true))
            }
            AnswerState::Body(_, rest, _) if !rest.is_empty() => Poll::Ready(Ok(true)),
            AnswerState::Body(stream, rest, AnswerFraming::Counted) => {
                let data = match self.gathered.pop() {
                    Some(data) => Some(Ok(data)),
                    None => ready!(poll_data(stream, cx, standing)),
                };
                match data {
                    None => Poll::Ready(Ok(false)),
                    Some(data) => {
                        *rest = data.map_err(broken)?;
                        Poll::Ready(Ok(true))
                    }
                }
            }
            AnswerState::Body(..) => self.poll_chunk(cx, standing),
            AnswerState::Ended => Poll::Ready(Ok(false)),
        }
    }

    fn poll_chunk(
        &mut self,
        cx: &mut Context<'_>,
        standing: &H2Standing,
    ) -> Poll<io::Result<bool>> {
        let AnswerState::Body(stream, rest, framing) = &mut self.state else {
            return Poll::Ready(Ok(false));
        };
        let data = match self.gathered.pop() {
            Some(data) => Some(data),
            None => ready!(poll_data(stream, cx, standing))
                .transpose()
                .map_err(broken)?,
        };
        let trailers = match &data {
            // An empty chunk would be the last one.
            Some(data) if data.is_empty() => return Poll::Ready(Ok(true)),
            Some(_) => None,
            None => ready!(stream.poll_trailers(cx)).map_err(broken)?,
        };
        self.heads.clear();
        self.read = 0;
        if *framing == AnswerFraming::Chunk {
            self.heads.extend_from_slice(b"\r\n");
        }
        if let Some(data) = data {
            // Writing to a Vec does not fail.
            let _ = write!(self.heads, "{:x}\r\n", data.len());
            *rest = data;
            *framing = AnswerFraming::Chunk;
        } else {
            let trailers = trailers.as_ref().map(Trailers::from_map).transpose();
            let trailers = trailers.map_err(|_| invalid("it has too many trailers"))?;
            write_last_chunk(&mut self.heads, &trailers.unwrap_or_default());
            self.state = AnswerState::Ended;
        }
        Poll::Ready(Ok(true))
    }
}

fn poll_data(
    stream: &mut RecvStream,
    cx: &mut Context<'_>,
    standing: &H2Standing,
) -> Poll<Option<Result<Bytes, h2::Error>>> {
    let data = ready!(stream.poll_data(cx));
    if let Some(Ok(data)) = &data
        && (1..SMALL).contains(&data.len())
    {
        standing.small_taken();
    }
    Poll::Ready(data)
}

fn put(bytes: &[u8], into: &mut ReadBuf<'_>) -> usize {
    let n = bytes.len().min(into.remaining());
    into.put_slice(bytes.get(..n).unwrap_or_default());
    n
}
