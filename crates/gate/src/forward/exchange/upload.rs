//! Carries a request's body to the backend, in pieces as they arrive.

use std::cell::Cell;

use tokio::io::AsyncWrite;
use tokio::time::Instant;

use super::rate::{BodyRate, SLOT, TooSlow};
use super::writer::RequestWriter;
use super::{ExchangeError, PIECE, Source};
use crate::forward::deadlines::Deadline;
use crate::forward::h1::{write_chunk, write_last_chunk};
use crate::judge::guard::Sessions;
use crate::judge::request::BadRequestError;
use crate::record::Limit;

/// The part of a body that is sent after the head.
pub(super) enum Rest {
    /// The body is sent while it arrives.
    Arriving(ArrivingBody),
    /// The whole body, kept because it may be sent again.
    Whole(Vec<Vec<u8>>),
}

/// A body that is sent while it arrives. The sent part is kept as long as it is small: an HTTP/2
/// server may refuse the request (RFC 9113 §8.7), and a kept connection may turn out to be closed.
#[derive(Default)]
pub(super) struct ArrivingBody {
    /// What has arrived, without its first `dropped` bytes.
    bytes: Vec<u8>,
    dropped: u64,
    /// The number of `bytes` that were sent.
    sent: usize,
    /// What follows the last byte, once that has arrived.
    end: Option<Vec<u8>>,
}

/// What an upload may keep of a body.
#[derive(Clone, Copy)]
pub(super) struct KeptBody<'a> {
    /// The largest number of bytes; 0 if the request cannot be sent again.
    pub(super) most: usize,
    /// Counts the memory.
    pub(super) buffer: &'a dyn Fn(usize) -> Result<(), Limit>,
    /// The server has begun its answer, so the request is not sent again.
    pub(super) answered: &'a Cell<bool>,
}

impl Rest {
    /// Whether the body's end is still to come.
    pub(super) fn is_arriving(&self) -> bool {
        matches!(self, Self::Arriving(body) if body.end.is_none())
    }

    /// Whether everything that has arrived is still here.
    pub(super) fn is_kept(&self) -> bool {
        match self {
            Self::Arriving(body) => body.dropped == 0,
            Self::Whole(_) => true,
        }
    }

    /// Begins again, over another connection.
    pub(super) fn rewind(&mut self) {
        if let Self::Arriving(body) = self {
            body.sent = 0;
        }
    }
}

impl ArrivingBody {
    /// The bytes were read ahead.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }

    /// The bytes that have arrived.
    pub(super) fn total(&self) -> u64 {
        self.dropped + self.bytes.len() as u64
    }

    /// Notes that everything was sent.
    fn keep(&mut self, kept: &KeptBody<'_>) {
        self.sent = self.bytes.len();
        if self.dropped == 0 {
            let is_needed = self.sent <= kept.most && !kept.answered.get();
            if is_needed && (kept.buffer)(self.sent).is_ok() {
                return;
            }
            let _ = (kept.buffer)(0);
        }
        self.dropped = self.total();
        self.bytes.clear();
        // The first piece may have been large.
        self.bytes.shrink_to(2 * PIECE);
        self.sent = 0;
    }
}

pub(super) struct Upload<'a, S, B, W> {
    pub(super) writer: RequestWriter<'a, S, B, W>,
    kept: KeptBody<'a>,
    rate: BodyRate,
}

impl<'a, S: Sessions, B: Source, W: AsyncWrite + Unpin> Upload<'a, S, B, W> {
    pub(super) fn new(writer: RequestWriter<'a, S, B, W>, kept: KeptBody<'a>) -> Self {
        let rate = BodyRate::new(&writer.site.policy.limits);
        Self { writer, kept, rate }
    }

    pub(super) async fn run(&mut self, rest: &mut Rest) -> Result<(), ExchangeError> {
        match rest {
            Rest::Arriving(body) => self.pass_on(body).await,
            Rest::Whole(blocks) => {
                for block in blocks {
                    self.writer.write(block).await?;
                }
                Ok(())
            }
        }
    }

    async fn pass_on(&mut self, body: &mut ArrivingBody) -> Result<(), ExchangeError> {
        let mut coded = Vec::new();
        loop {
            let piece = body.bytes.get(body.sent..).unwrap_or_default();
            if !piece.is_empty() {
                self.send_piece(piece, &mut coded).await?;
                body.keep(&self.kept);
            }
            if let Some(end) = &body.end {
                return self.writer.write(end).await;
            }
            self.writer.deadlines.waits_for_client(true);
            let more = self.next(&mut body.bytes).await?;
            self.writer.deadlines.waits_for_client(false);
            if !more {
                body.end = Some(self.end());
            }
            if body.total() > self.writer.site.policy.limits.body.0 {
                return Err(BadRequestError::BodyTooLarge.into());
            }
        }
    }

    fn end(&mut self) -> Vec<u8> {
        let (mut end, asked) = (Vec::new(), self.writer.asked);
        if asked.body.is_chunked() {
            write_last_chunk(&mut end, &asked.trailers(self.writer.body));
        }
        end
    }

    async fn send_piece(&mut self, piece: &[u8], coded: &mut Vec<u8>) -> Result<(), ExchangeError> {
        if !self.writer.asked.body.is_chunked() {
            return self.writer.write(piece).await;
        }
        coded.clear();
        write_chunk(coded, piece);
        self.writer.write(coded).await
    }

    /// Passes slow bodies on at once. A route for streams has no minimum rate, because its clients
    /// may be silent.
    async fn next(&mut self, piece: &mut Vec<u8>) -> Result<bool, ExchangeError> {
        let writer = &mut self.writer;
        if !self.rate.is_required()
            || (writer.asked.route.streams && writer.asked.body.is_chunked())
        {
            return writer.body.next(piece).await;
        }
        next_in_time(writer.body, &mut self.rate, &writer.deadlines.up, piece).await
    }
}

/// Reads the next part of a body from a client, which is too slow if its rate is below the minimum.
/// The time that the backend takes does not count.
pub(super) async fn next_in_time(
    body: &mut impl Source,
    rate: &mut BodyRate,
    deadline: &Deadline,
    piece: &mut Vec<u8>,
) -> Result<bool, ExchangeError> {
    loop {
        let (asked, before) = (Instant::now(), piece.len());
        let more = deadline.within(Some(SLOT), body.next(piece)).await;
        // A body that is complete was fast enough.
        if matches!(more, Ok(Ok(false) | Err(_))) {
            return more.unwrap_or(Ok(false));
        }
        let came = rate.came(asked.elapsed(), (piece.len() - before) as u64);
        came.map_err(|TooSlow| ExchangeError::Slow(Limit::BodyRate))?;
        if more.is_ok() {
            return Ok(true);
        }
    }
}
