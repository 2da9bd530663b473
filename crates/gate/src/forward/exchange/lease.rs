//! The connections that one exchange uses: the first, for which part of the body is read ahead, and
//! the next if the request may be sent again. `upstream` chooses the connection; the exchange uses
//! it.

use std::io;
use std::rc::Rc;
use std::time::Instant;

use super::download::DownloadOutcome;
use super::read_ahead::{ReadAhead, ReadAheadOutcome};
use super::upload::{ArrivingBody, Rest};
use super::{Exchange, ExchangeEnd, ExchangeError, Sink, Source, TRUST_TIME, admitted, over};
use crate::forward::h1::{ResponseError, write_chunk, write_last_chunk};
use crate::forward::upstream::{
    Fate, LeaseNeeds, Link, Upstream, UpstreamError, was_not_processed,
};
use crate::judge::guard::Sessions;
use crate::judge::request::{BadRequestError, Body};
use crate::record::{Early, Limit};

/// nginx, the least generous of the common servers, accepts fields of 8 KiB.
const MAX_USUAL_HEAD: usize = 8 * 1024;

/// Whether and how a request may still be sent again.
#[derive(Default)]
pub(super) struct Retries {
    /// The request was sent again once, because its kept connection was closed.
    is_used: bool,
    /// A server did not process the request, so it waits again, until this time.
    until: Option<tokio::time::Instant>,
}

/// What to do after the use of a connection.
pub(super) enum Next {
    Ended(ExchangeEnd),
    Link(Link),
}

impl<S: Sessions, B: Source, A: Sink> Exchange<'_, S, B, A> {
    /// Leases a connection, and returns the part of the body that is not sent with the head. A
    /// request whose body is slow gets a connection only if one is free for such requests; until
    /// then its body is read ahead.
    pub(super) async fn first_link(
        &mut self,
        upstream: &Rc<Upstream>,
    ) -> Result<(Link, Option<Rest>), ExchangeError> {
        if self.asked.body == Body::None {
            return Ok((self.lease(upstream, false).await?, None));
        }
        if self.asked.buffered {
            return self.buffered_link(upstream).await;
        }
        let mut ahead = ReadAhead::default();
        let limits = &self.site.policy.limits;
        if self.asked.eager || limits.body_ahead_time.0.is_zero() {
            let link = self.lease(upstream, true).await?;
            return Ok((link, Some(Rest::Arriving(ArrivingBody::default()))));
        }
        loop {
            self.deadlines.waits_for_client(true);
            let came = tokio::select! {
                biased;
                came = ahead.read(self.body, limits, &self.deadlines.up, self.buffer) => came?,
                () = over(self.site, self.asked) => return Err(ExchangeError::Over),
            };
            self.deadlines.waits_for_client(false);
            let link = match came {
                ReadAheadOutcome::Whole => {
                    self.put_behind(&ahead.bytes);
                    return Ok((self.lease(upstream, false).await?, None));
                }
                ReadAheadOutcome::Enough => self.lease(upstream, true).await?,
                ReadAheadOutcome::Some => {
                    let leased = upstream.lease_if_free(self.need(true));
                    let Some(link) = self.unless_gone(leased).await? else {
                        continue;
                    };
                    self.note_lease(upstream, &link);
                    link
                }
            };
            let body = ArrivingBody::new(ahead.bytes);
            self.entry.bytes_up = body.total();
            return Ok((link, Some(Rest::Arriving(body))));
        }
    }

    /// Takes back `link`, and decides what follows: the end of the exchange, or another connection
    /// for the same request. A request is sent again after 425, once the handshake is complete, and
    /// also once if a kept connection was closed and sending it twice does no harm. If the server
    /// has not processed it, it waits again like a new one, for a limited time. What was sent of
    /// `rest` must still be there.
    pub(super) async fn next_link(
        &mut self,
        upstream: &Upstream,
        link: Link,
        outcome: Result<DownloadOutcome, ExchangeError>,
        mut rest: Option<&mut Rest>,
        retries: &mut Retries,
    ) -> Result<Next, ExchangeError> {
        let uploads = rest.as_ref().is_some_and(|rest| rest.is_arriving());
        let whole = rest.as_ref().is_none_or(|rest| rest.is_kept());
        if let Some(rest) = &mut rest {
            rest.rewind();
        }
        match outcome {
            Ok(DownloadOutcome::Whole { link_stays, ended }) => {
                link.finish(if link_stays { Fate::Kept } else { Fate::Spent });
                Ok(Next::Ended(ended))
            }
            Ok(DownloadOutcome::TooEarly { link_stays }) => {
                link.finish(if link_stays { Fate::Kept } else { Fate::Spent });
                let span = Some(self.site.policy.limits.head_time.0);
                let confirmed = self.deadlines.up.within(span, self.body.confirmed()).await;
                confirmed.map_err(|_| ExchangeError::Slow(Limit::HeadTime))??;
                self.forget_early();
                let link = self.lease(upstream, uploads).await?;
                self.entry.early = Some(Early::Again);
                Ok(Next::Link(link))
            }
            Err(ExchangeError::Backend { sent, source })
                if link.may_wait_again(&source)
                    && self.may_be_sent_again(&link, sent, &source, whole) =>
            {
                // RFC 9113 §8.7. That is no failure, and costs the server nothing.
                let until = *retries.until.get_or_insert_with(|| upstream.deadline());
                if until <= tokio::time::Instant::now() {
                    link.finish(Fate::Refused);
                    return Err(upstream.refused().into());
                }
                let need = LeaseNeeds {
                    until: Some(until),
                    ..self.need(uploads)
                };
                let leased = upstream.replace(link, Fate::Refused, need);
                let link = self.unless_gone(leased).await?;
                self.note_lease(upstream, &link);
                self.entry.retried = true;
                Ok(Next::Link(link))
            }
            Err(ExchangeError::Backend { sent, source })
                if !retries.is_used
                    && self.may_be_sent_again(&link, sent, &source, whole)
                    && upstream.may_retry() =>
            {
                let need = self.need(uploads);
                let fate = if was_not_processed(&source) {
                    Fate::Refused
                } else {
                    Fate::Stale
                };
                let link = self.unless_gone(upstream.replace(link, fate, need)).await?;
                self.note_lease(upstream, &link);
                retries.is_used = true;
                self.entry.retried = true;
                Ok(Next::Link(link))
            }
            // The client may ask again.
            Err(ExchangeError::Backend { source, .. })
                if !self.begun && was_not_processed(&source) =>
            {
                link.finish(Fate::Refused);
                Err(upstream.refused().into())
            }
            Err(error) => {
                link.finish(match &error {
                    ExchangeError::Backend { source, .. } if was_not_processed(source) => {
                        Fate::Refused
                    }
                    _ if error.is_the_backends() => Fate::Failed,
                    ExchangeError::Refused(BadRequestError::NotForHttp2) => Fate::Unused,
                    _ => Fate::Spent,
                });
                Err(error)
            }
        }
    }

    pub(super) async fn lease(
        &mut self,
        upstream: &Upstream,
        upload: bool,
    ) -> Result<Link, ExchangeError> {
        let need = self.need(upload);
        let link = self.unless_gone(upstream.lease(need)).await?;
        self.note_lease(upstream, &link);
        Ok(link)
    }

    fn need(&self, upload: bool) -> LeaseNeeds {
        LeaseNeeds {
            repeatable: self.asked.idempotent,
            upload,
            tunnel: self.asked.upgrade.is_some() || self.asked.route.streams,
            large_head: self.head.len() > MAX_USUAL_HEAD,
            client: self.asked.client,
            until: None,
        }
    }

    /// Appends the whole body to the head.
    fn put_behind(&mut self, body: &[u8]) {
        self.entry.bytes_up += body.len() as u64;
        if self.asked.body.is_chunked() {
            write_chunk(self.head, body);
            write_last_chunk(self.head, &self.asked.trailers(self.body));
        } else {
            self.head.extend_from_slice(body);
        }
    }

    /// Runs `leasing`, unless the client leaves meanwhile or its session ends.
    async fn unless_gone<L>(
        &mut self,
        leased: impl Future<Output = Result<L, UpstreamError>>,
    ) -> Result<L, ExchangeError> {
        let link = tokio::select! {
            biased;
            leased = leased => leased?,
            () = self.body.gone(), if !self.asked.route.half_close => return Err(ExchangeError::Gone),
            () = over(self.site, self.asked) => return Err(ExchangeError::Over),
        };
        if self.entry.began.elapsed() >= TRUST_TIME {
            admitted(self.site, self.asked).await?;
        }
        Ok(link)
    }

    fn note_lease(&mut self, upstream: &Upstream, link: &Link) {
        self.entry.upstream = upstream.index();
        self.entry.reused = link.is_reused();
        self.entry.upstream_secure = link.is_secure();
        if !link.is_reused() {
            self.entry.leased = Some(Instant::now());
        }
    }

    /// RFC 9110 §9.2.2, RFC 9112 §9.3.1: a kept connection may have been closed while the request
    /// was in flight. A body that is not `whole` is not kept, so it is sent only once.
    fn may_be_sent_again(&self, link: &Link, sent: bool, why: &io::Error, whole: bool) -> bool {
        let silent = !self.begun && !self.interim;
        if was_not_processed(why) {
            return silent && whole;
        }
        let untouched = whole || !sent;
        link.is_reused() && silent && untouched && (self.asked.idempotent || !sent)
    }

    /// RFC 8470 §5.2.
    fn forget_early(&mut self) {
        if let Some(range) = self.asked.early.clone()
            && range.end <= self.head.len()
        {
            self.head.drain(range);
        }
    }
}

impl ExchangeError {
    /// Whether the backend is to blame. It is not if it does not switch to another protocol: the
    /// client chose which page to ask for that.
    fn is_the_backends(&self) -> bool {
        !matches!(self, Self::Answer(ResponseError::Switch))
            && matches!(
                self,
                Self::Backend { .. } | Self::Answer(_) | Self::Unanswered | Self::Silent
            )
    }
}
