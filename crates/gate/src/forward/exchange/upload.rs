//! Carries the request to the backend: its head in one write, and its body in pieces as they come.

use std::cell::Cell;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use super::read_ahead::ReadAhead;
use super::{ExchangeError, PIECE, Source};
use crate::forward::deadlines::ExchangeDeadlines;
use crate::forward::h1::{write_chunk, write_last_chunk};
use crate::forward::site::Site;
use crate::forward::upstream::Upstream;
use crate::judge::ForwardedRequest;
use crate::judge::request::BadRequestError;
use crate::record::Limit;

/// The window over which a client's rate is measured. In each window it must be twice that of the
/// one before, up to a maximum: a client that holds a connection for long must have much to send.
pub(super) const RATE_WINDOW: Duration = Duration::from_secs(10);

/// Returns with a failure whether anything may have arrived.
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

/// How much must arrive in one window at this rate.
pub(super) fn window(rate: u64) -> u64 {
    rate.saturating_mul(RATE_WINDOW.as_secs())
}

pub(super) struct Upload<'a, S, B, W> {
    site: &'a Site<S>,
    upstream: &'a Upstream,
    pub(super) asked: &'a ForwardedRequest,
    pub(super) deadlines: &'a ExchangeDeadlines,
    pub(super) body: &'a mut B,
    to: &'a mut W,
    /// How much of the body has arrived, without what was there before.
    total: &'a Cell<u64>,
    /// When the present window began, how much has arrived in it, and how much must, in bytes.
    since: Instant,
    taken: u64,
    least: u64,
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
            since: Instant::now(),
            taken: 0,
            least: window(site.policy.limits.body_rate.0),
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

    /// Passes slow bodies on at once; a client that sends less than the minimum rate over a whole
    /// window is too slow. A route for streams has no minimum, because its clients may be silent.
    async fn next(&mut self, piece: &mut Vec<u8>) -> Result<bool, ExchangeError> {
        let limits = &self.site.policy.limits;
        let watched = self.least > 0 && !self.is_open_ended();
        let next = self.body.next(piece);
        let next = self
            .deadlines
            .up
            .within(watched.then_some(RATE_WINDOW), next)
            .await;
        let more = next.map_err(|_| ExchangeError::Slow(Limit::BodyRate))??;
        self.taken += piece.len() as u64;
        if watched && self.since.elapsed() >= RATE_WINDOW {
            if self.taken < self.least {
                return Err(ExchangeError::Slow(Limit::BodyRate));
            }
            let most = window(limits.body_rate_most.0.max(limits.body_rate.0));
            self.least = self.least.saturating_mul(2).min(most);
            (self.since, self.taken) = (Instant::now(), 0);
        }
        Ok(more)
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
