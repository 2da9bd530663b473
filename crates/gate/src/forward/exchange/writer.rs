//! Writes a request to the backend. A backend may pause reading for as long as `silence` allows,
//! and only while its client stays connected.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::{ExchangeError, Source, WATCHED_AFTER, over};
use crate::forward::deadlines::{Elapsed, ExchangeDeadlines};
use crate::forward::site::Site;
use crate::forward::upstream::Upstream;
use crate::judge::ForwardedRequest;
use crate::judge::guard::Sessions;
use crate::judge::request::BadRequestError;

pub(super) struct RequestWriter<'a, S, B, W> {
    pub(super) site: &'a Site<S>,
    upstream: &'a Upstream,
    pub(super) asked: &'a ForwardedRequest,
    pub(super) deadlines: &'a ExchangeDeadlines,
    /// The client.
    pub(super) body: &'a mut B,
    pub(super) to: &'a mut W,
    /// Whether the backend may have received anything.
    sent: bool,
}

impl<'a, S: Sessions, B: Source, W: AsyncWrite + Unpin> RequestWriter<'a, S, B, W> {
    pub(super) fn new(
        site: &'a Site<S>,
        upstream: &'a Upstream,
        asked: &'a ForwardedRequest,
        deadlines: &'a ExchangeDeadlines,
        body: &'a mut B,
        to: &'a mut W,
    ) -> Self {
        Self {
            site,
            upstream,
            asked,
            deadlines,
            body,
            to,
            sent: false,
        }
    }

    /// Writes all of it. A failure says whether the backend may have received anything.
    pub(super) async fn write(&mut self, mut bytes: &[u8]) -> Result<(), ExchangeError> {
        while !bytes.is_empty() {
            let (watch, to) = self.parts();
            let wrote = watch.run(to.write(bytes)).await?;
            let n = wrote.map_err(|source| self.lost(source))?;
            if n == 0 {
                return Err(self.lost(io::ErrorKind::WriteZero.into()));
            }
            self.sent = true;
            bytes = bytes.get(n..).unwrap_or_default();
        }
        let (watch, to) = self.parts();
        let flushed = watch.run(to.flush()).await?;
        flushed.map_err(ExchangeError::lost)
    }

    fn lost(&self, source: io::Error) -> ExchangeError {
        let sent = self.sent;
        // The head could not be converted: the request is wrong, not the server.
        if !sent && source.kind() == io::ErrorKind::InvalidInput {
            return BadRequestError::NotForHttp2.into();
        }
        ExchangeError::Backend { source, sent }
    }

    fn parts(&mut self) -> (Watch<'_, S, B>, &mut W) {
        let watch = Watch {
            site: self.site,
            upstream: self.upstream,
            asked: self.asked,
            deadlines: self.deadlines,
            body: &mut *self.body,
        };
        (watch, &mut *self.to)
    }
}

/// Watches the client while the backend takes nothing.
struct Watch<'a, S, B> {
    site: &'a Site<S>,
    upstream: &'a Upstream,
    asked: &'a ForwardedRequest,
    deadlines: &'a ExchangeDeadlines,
    body: &'a mut B,
}

impl<S: Sessions, B: Source> Watch<'_, S, B> {
    async fn run<T>(
        self,
        sending: impl Future<Output = io::Result<T>>,
    ) -> Result<io::Result<T>, ExchangeError> {
        let mut sending = pin!(sending);
        let at_once = poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx))).await;
        if let Poll::Ready(sent) = at_once {
            return Ok(sent);
        }
        let (up, silence) = (&self.deadlines.up, self.upstream.silence());
        let soon = silence.map_or(WATCHED_AFTER, |span| span.min(WATCHED_AFTER));
        if let Ok(sent) = up.within(Some(soon), sending.as_mut()).await {
            return Ok(sent);
        }
        let waiting = async {
            tokio::select! {
                biased;
                sent = up.within(silence, sending) => sent.map_err(|Elapsed| ExchangeError::Silent),
                () = self.body.gone(), if !self.asked.route.half_close => Err(ExchangeError::Gone),
                () = over(self.site, self.asked) => Err(ExchangeError::Over),
            }
        };
        // Boxed, because most backends take a request at once.
        Box::pin(waiting).await
    }
}
