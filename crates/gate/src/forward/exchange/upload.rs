//! Carries the request to the backend: its head in one write, and its body in pieces as they come.

use std::cell::Cell;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use super::rate::{BodyRate, SLOT, TooSlow};
use super::read_ahead::ReadAhead;
use super::{ExchangeError, PIECE, Source};
use crate::forward::deadlines::ExchangeDeadlines;
use crate::forward::h1::{write_chunk, write_last_chunk};
use crate::forward::site::Site;
use crate::forward::upstream::Upstream;
use crate::judge::ForwardedRequest;
use crate::judge::request::BadRequestError;
use crate::record::Limit;

/// A failure says whether anything may have arrived.
pub(super) async fn head(
    mut bytes: &[u8],
    to: &mut (impl AsyncWrite + Unpin),
) -> Result<(), ExchangeError> {
    let mut sent = false;
    while !bytes.is_empty() {
        let wrote = to.write(bytes).await;
        let n = wrote.map_err(|source| ExchangeError::Backend { source, sent })?;
        if n == 0 {
            return Err(ExchangeError::lost(std::io::ErrorKind::WriteZero.into()));
        }
        sent = true;
        bytes = bytes.get(n..).unwrap_or_default();
    }
    to.flush().await.map_err(ExchangeError::lost)
}

pub(super) struct Upload<'a, S, B, W> {
    site: &'a Site<S>,
    upstream: &'a Upstream,
    pub(super) asked: &'a ForwardedRequest,
    pub(super) deadlines: &'a ExchangeDeadlines,
    pub(super) body: &'a mut B,
    to: &'a mut W,
    /// The bytes of the body that have arrived, without those that were read ahead.
    total: &'a Cell<u64>,
    rate: BodyRate,
}

impl<'a, S, B: Source, W: AsyncWrite + Unpin> Upload<'a, S, B, W> {
    pub(super) fn new(
        site: &'a Site<S>,
        upstream: &'a Upstream,
        asked: &'a ForwardedRequest,
        deadlines: &'a ExchangeDeadlines,
        body: &'a mut B,
        to: &'a mut W,
        total: &'a Cell<u64>,
    ) -> Self {
        Self {
            site,
            upstream,
            asked,
            deadlines,
            body,
            to,
            total,
            rate: BodyRate::new(&site.policy.limits),
        }
    }

    pub(super) async fn run(&mut self, ahead: &mut ReadAhead) -> Result<(), ExchangeError> {
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
            if before + total > self.site.policy.limits.body.0 {
                return Err(BadRequestError::BodyTooLarge.into());
            }
        }
        if self.asked.body.is_chunked() {
            coded.clear();
            write_last_chunk(&mut coded, &self.asked.trailers(self.body));
            self.send(&coded).await?;
        }
        Ok(())
    }

    async fn send_piece(&mut self, piece: &[u8], coded: &mut Vec<u8>) -> Result<(), ExchangeError> {
        if !self.asked.body.is_chunked() {
            return self.send(piece).await;
        }
        coded.clear();
        write_chunk(coded, piece);
        self.send(coded).await
    }

    /// Passes slow bodies on at once; a client whose rate is below the minimum is too slow. The
    /// time that the backend takes does not count. A route for streams has no minimum, because its
    /// clients may be silent.
    async fn next(&mut self, piece: &mut Vec<u8>) -> Result<bool, ExchangeError> {
        if !self.rate.is_required() || self.is_open_ended() {
            return self.body.next(piece).await;
        }
        loop {
            let (asked, before) = (Instant::now(), piece.len());
            let next = self.body.next(piece);
            let more = self.deadlines.up.within(Some(SLOT), next).await;
            // A body that is complete was fast enough.
            if matches!(more, Ok(Ok(false) | Err(_))) {
                return more.unwrap_or(Ok(false));
            }
            let came = self
                .rate
                .came(asked.elapsed(), (piece.len() - before) as u64);
            came.map_err(|TooSlow| ExchangeError::Slow(Limit::BodyRate))?;
            if more.is_ok() {
                return Ok(true);
            }
        }
    }

    /// A stream may be silent for as long as its route allows for answers; an upload on the same
    /// route has a length.
    fn is_open_ended(&self) -> bool {
        self.asked.route.streams && self.asked.body.is_chunked()
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), ExchangeError> {
        let silence = self.upstream.silence();
        let to = &mut *self.to;
        let sending = async {
            to.write_all(bytes).await?;
            to.flush().await
        };
        match self.deadlines.up.within(silence, sending).await {
            Ok(sent) => sent.map_err(ExchangeError::lost),
            Err(_) => Err(ExchangeError::Silent),
        }
    }
}
