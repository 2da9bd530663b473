//! The request's way to the backend: its head in one write, and its body in pieces as they come.

use std::cell::Cell;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use super::{Asked, Broken, Source};
use crate::h1::{Trailers, write_chunk, write_last_chunk};
use crate::patrol::Posts;
use crate::record::Limit;
use crate::request::{Body, Refusal};
use crate::site::Site;

/// The time over which a client's rate is taken.
const WINDOW: Duration = Duration::from_secs(10);

/// Says of a failure whether anything may have arrived.
pub(super) async fn head(
    mut bytes: &[u8],
    to: &mut (impl AsyncWrite + Unpin),
) -> Result<(), Broken> {
    let mut sent = false;
    while !bytes.is_empty() {
        let wrote = to.write(bytes).await;
        let n = wrote.map_err(|source| Broken::Backend { source, sent })?;
        if n == 0 {
            return Err(Broken::lost(std::io::ErrorKind::WriteZero.into()));
        }
        sent = true;
        bytes = bytes.get(n..).unwrap_or_default();
    }
    to.flush().await.map_err(Broken::lost)
}

pub(super) struct Upload<'a, S, B, W> {
    site: &'a Site<S>,
    asked: &'a Asked,
    posts: &'a Posts,
    body: &'a mut B,
    to: &'a mut W,
    /// What came of the body.
    total: &'a Cell<u64>,
    /// When the present window began, and what came in it.
    since: Instant,
    taken: u64,
}

impl<'a, S, B: Source, W: AsyncWrite + Unpin> Upload<'a, S, B, W> {
    pub(super) fn new(
        site: &'a Site<S>,
        asked: &'a Asked,
        posts: &'a Posts,
        body: &'a mut B,
        to: &'a mut W,
        total: &'a Cell<u64>,
    ) -> Self {
        Self {
            site,
            asked,
            posts,
            body,
            to,
            total,
            since: Instant::now(),
            taken: 0,
        }
    }

    pub(super) async fn run(&mut self) -> Result<(), Broken> {
        let chunks = matches!(self.asked.body, Body::Chunked | Body::Framed);
        let (mut piece, mut coded) = (Vec::new(), Vec::new());
        while self.next(&mut piece).await? {
            let total = self.total.get() + piece.len() as u64;
            self.total.set(total);
            if total > self.site.limits.body.0 {
                return Err(Refusal::BodyTooLarge.into());
            }
            if chunks {
                coded.clear();
                write_chunk(&mut coded, &piece);
                self.send(&coded).await?;
            } else {
                self.send(&piece).await?;
            }
            piece.clear();
        }
        if chunks {
            let trailers = match self.asked.sends_trailers {
                true => self.body.trailers(),
                false => Trailers::default(),
            };
            coded.clear();
            write_last_chunk(&mut coded, &trailers);
            self.send(&coded).await?;
        }
        Ok(())
    }

    /// What trickles in goes on at once; who sends less than the least rate over a whole window is too slow.
    async fn next(&mut self, piece: &mut Vec<u8>) -> Result<bool, Broken> {
        let least = if self.is_open_ended() {
            0
        } else {
            let rate = self.site.limits.body_rate.0;
            rate.saturating_mul(WINDOW.as_secs())
        };
        let window = (least > 0).then_some(WINDOW);
        let next = self.posts.up.within(window, self.body.next(piece)).await;
        let more = next.map_err(|_| Broken::Slow(Limit::BodyRate))??;
        self.taken += piece.len() as u64;
        if self.since.elapsed() >= WINDOW {
            if self.taken < least {
                return Err(Broken::Slow(Limit::BodyRate));
            }
            (self.since, self.taken) = (Instant::now(), 0);
        }
        Ok(more)
    }

    /// A conversation may be silent for as long as its route lets answers be; a file that is uploaded there has a length.
    fn is_open_ended(&self) -> bool {
        self.asked.route.streams && matches!(self.asked.body, Body::Chunked | Body::Framed)
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let silence = self.asked.route.upstream.silence();
        let to = &mut *self.to;
        let sending = async {
            to.write_all(bytes).await?;
            to.flush().await
        };
        match self.posts.up.within(silence, sending).await {
            Ok(sent) => sent.map_err(Broken::lost),
            Err(_) => Err(Broken::Silent),
        }
    }
}
