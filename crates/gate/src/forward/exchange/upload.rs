//! Carries a request's body to the backend, in pieces as they arrive.

use std::cell::Cell;

use tokio::io::AsyncWrite;
use tokio::time::Instant;

use super::rate::{BodyRate, SLOT, TooSlow};
use super::read_ahead::ReadAhead;
use super::writer::RequestWriter;
use super::{ExchangeError, PIECE, Source};
use crate::forward::deadlines::Deadline;
use crate::forward::h1::{write_chunk, write_last_chunk};
use crate::judge::guard::Sessions;
use crate::judge::request::BadRequestError;
use crate::record::Limit;

/// The part of a body that is sent after the head.
pub(super) enum Rest {
    /// The beginning; the rest is still arriving.
    Arriving(ReadAhead),
    /// All of it, kept because it may be sent again.
    Whole(Vec<Vec<u8>>),
}

pub(super) struct Upload<'a, S, B, W> {
    pub(super) writer: RequestWriter<'a, S, B, W>,
    /// The bytes of the body that have arrived, without those that were read ahead.
    total: &'a Cell<u64>,
    rate: BodyRate,
}

impl<'a, S: Sessions, B: Source, W: AsyncWrite + Unpin> Upload<'a, S, B, W> {
    pub(super) fn new(writer: RequestWriter<'a, S, B, W>, total: &'a Cell<u64>) -> Self {
        let rate = BodyRate::new(&writer.site.policy.limits);
        Self {
            writer,
            total,
            rate,
        }
    }

    pub(super) async fn run(&mut self, rest: &mut Rest) -> Result<(), ExchangeError> {
        match rest {
            Rest::Arriving(ahead) => self.pass_on(ahead).await,
            Rest::Whole(blocks) => {
                for block in blocks {
                    self.writer.write(block).await?;
                }
                Ok(())
            }
        }
    }

    async fn pass_on(&mut self, ahead: &mut ReadAhead) -> Result<(), ExchangeError> {
        let before = ahead.bytes.len() as u64;
        let (mut piece, mut coded) = (std::mem::take(&mut ahead.bytes), Vec::new());
        let mut more = true;
        while more {
            if !piece.is_empty() {
                self.send_piece(&piece, &mut coded).await?;
                piece.clear();
                // The first piece may have been large.
                piece.shrink_to(2 * PIECE);
            }
            more = self.next(&mut piece).await?;
            let total = self.total.get() + piece.len() as u64;
            self.total.set(total);
            if before + total > self.writer.site.policy.limits.body.0 {
                return Err(BadRequestError::BodyTooLarge.into());
            }
        }
        let asked = self.writer.asked;
        if asked.body.is_chunked() {
            coded.clear();
            write_last_chunk(&mut coded, &asked.trailers(self.writer.body));
            self.writer.write(&coded).await?;
        }
        Ok(())
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
