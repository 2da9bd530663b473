//! The answer's way back: interim heads, the head, the body, as HTTP/1.1 would have them.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use h2::RecvStream;
use h2::client::ResponseFuture;
use tokio::io::ReadBuf;
use tokio::time::timeout;

use super::{broken, head, invalid};

/// For an end that comes after all data.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Answer {
    state: State,
    /// Heads that are still to be read.
    heads: Vec<u8>,
    /// What has been read of them.
    read: usize,
}

#[derive(Debug)]
enum State {
    /// Nothing was asked; who reads already is told when something was.
    Unasked(Option<Waker>),
    Awaited(ResponseFuture),
    Body(RecvStream, Bytes),
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            state: State::Unasked(None),
            heads: Vec::new(),
            read: 0,
        }
    }
}

impl Answer {
    pub(super) fn begin(&mut self, response: ResponseFuture) {
        let before = std::mem::replace(&mut self.state, State::Awaited(response));
        if let State::Unasked(Some(waker)) = before {
            waker.wake();
        }
    }

    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let heads = self.heads.get(self.read..).unwrap_or_default();
            if !heads.is_empty() {
                self.read += put(heads, into);
                return Poll::Ready(Ok(()));
            }
            if !ready!(self.poll_more(cx))? {
                return Poll::Ready(Ok(()));
            }
            if let State::Body(stream, rest) = &mut self.state
                && !rest.is_empty()
                && self.heads.len() == self.read
            {
                let n = put(rest, into);
                rest.advance(n);
                // Only what an exchange has taken is asked for anew: who is slow is not buffered for.
                let _ = stream.flow_control().release_capacity(n);
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Reads on where the exchange has stopped because it has all that it was promised: the server's end may come apart from
    /// that, and is no reason for a reset.
    pub(super) async fn end(mut self) {
        if let State::Body(stream, rest) = &mut self.state
            && rest.is_empty()
            && !stream.is_end_stream()
        {
            let end = poll_fn(|cx| stream.poll_data(cx));
            let _ = timeout(PATIENCE, end).await;
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        match &self.state {
            State::Body(stream, rest) => rest.is_empty() && stream.is_end_stream(),
            State::Unasked(_) | State::Awaited(_) => false,
        }
    }

    /// `false` at the end.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        match &mut self.state {
            State::Unasked(waker) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
            State::Awaited(response) => {
                self.heads.clear();
                self.read = 0;
                if let Some(interim) = ready!(response.poll_informational(cx)) {
                    let interim = interim.map_err(broken)?;
                    // RFC 9113 §8.6: there is no 101 in HTTP/2.
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
                head::answer(parts.status.as_u16(), &parts.headers, &mut self.heads);
                self.state = State::Body(body, Bytes::new());
                Poll::Ready(Ok(true))
            }
            State::Body(_, rest) if !rest.is_empty() => Poll::Ready(Ok(true)),
            State::Body(stream, rest) => match ready!(stream.poll_data(cx)) {
                None => Poll::Ready(Ok(false)),
                Some(data) => {
                    *rest = data.map_err(broken)?;
                    Poll::Ready(Ok(true))
                }
            },
        }
    }
}

fn put(bytes: &[u8], into: &mut ReadBuf<'_>) -> usize {
    let n = bytes.len().min(into.remaining());
    into.put_slice(bytes.get(..n).unwrap_or_default());
    n
}
