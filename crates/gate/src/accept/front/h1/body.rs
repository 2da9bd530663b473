//! Reads a request's body over HTTP/1.1, with `Content-Length` or in chunks, and upgraded bytes.

use std::future::poll_fn;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::sleep;

use crate::accept::stream::Stream;
use crate::forward::exchange::{ExchangeError, PIECE, Source};
use crate::forward::h1::{Chunked, Trailers};
use crate::forward::split::Reading;
use crate::judge::request::{BadRequestError, Body};

/// How often to check whether a client that has sent much ahead is still connected.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// Room for bytes that a client sends while it waits for its answer.
const REST_CAPACITY: usize = 64;

pub(super) struct RequestBody<'h, 'a, IO> {
    from: Reading<'h, 'a, IO>,
    /// Bytes that the client has already sent; those that follow the body stay in it.
    buffer: &'a mut Vec<u8>,
    rest: Remaining,
}

/// The part of the body that has not been read.
enum Remaining {
    Counted(u64),
    Chunks(Chunked),
    /// The body ends when the client closes.
    Anything,
}

impl<'h, 'a, IO: Stream> RequestBody<'h, 'a, IO> {
    pub(super) fn new(from: Reading<'h, 'a, IO>, buffer: &'a mut Vec<u8>, body: Body) -> Self {
        let rest = match body {
            Body::Length(length) => Remaining::Counted(length),
            Body::Chunked => Remaining::Chunks(Chunked::default()),
            Body::None | Body::Framed => Remaining::Counted(0),
        };
        Self { from, buffer, rest }
    }

    async fn fill(&mut self) -> Result<usize, ExchangeError> {
        self.buffer.reserve(PIECE);
        let read = self.from.read_buf(self.buffer).await;
        read.map_err(ExchangeError::Client)
    }

    /// Waits until the buffer has something; a premature end is an error.
    async fn some(&mut self) -> Result<(), ExchangeError> {
        if self.buffer.is_empty() && self.fill().await? == 0 {
            return Err(ExchangeError::Gone);
        }
        Ok(())
    }
}

impl<IO: Stream> Source for RequestBody<'_, '_, IO> {
    async fn next(&mut self, into: &mut Vec<u8>) -> Result<bool, ExchangeError> {
        loop {
            match &mut self.rest {
                Remaining::Counted(0) => return Ok(false),
                Remaining::Chunks(coding) if coding.is_done() => return Ok(false),
                Remaining::Anything => {
                    if self.buffer.is_empty() && self.fill().await? == 0 {
                        return Ok(false);
                    }
                    into.append(self.buffer);
                    return Ok(true);
                }
                _ if self.buffer.is_empty() => self.some().await?,
                Remaining::Counted(left) => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX);
                    let here = here.min(self.buffer.len());
                    into.extend(self.buffer.drain(..here));
                    *left -= here as u64;
                    return Ok(true);
                }
                Remaining::Chunks(coding) => {
                    let before = into.len();
                    let used = coding.take(self.buffer, |data| into.extend_from_slice(data));
                    let used = used.map_err(|_| ExchangeError::Refused(BadRequestError::Chunk))?;
                    self.buffer.drain(..used);
                    if into.len() > before {
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn trailers(&mut self) -> Trailers {
        match &mut self.rest {
            Remaining::Chunks(coding) => coding.trailers(),
            Remaining::Counted(_) | Remaining::Anything => Trailers::default(),
        }
    }

    fn upgrade(&mut self) {
        self.rest = Remaining::Anything;
    }

    async fn gone(&mut self) {
        // A tunnel's client may have closed its direction, and still receive.
        if matches!(self.rest, Remaining::Anything) {
            while !self.from.stream().was_reset() {
                sleep(LOOK_INTERVAL).await;
            }
            return;
        }
        // Gate reads no more than a piece ahead.
        while self.buffer.len() < PIECE {
            // Usually nothing arrives.
            self.buffer.reserve(REST_CAPACITY);
            if !self.from.read_buf(self.buffer).await.is_ok_and(|n| n > 0) {
                return;
            }
        }
        while !self.from.stream().has_left() {
            sleep(LOOK_INTERVAL).await;
        }
    }

    async fn confirmed(&mut self) -> Result<(), ExchangeError> {
        let confirmed = poll_fn(|cx| self.from.stream().poll_confirmed(cx)).await;
        confirmed.map_err(ExchangeError::Client)
    }
}
