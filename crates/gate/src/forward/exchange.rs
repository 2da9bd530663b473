//! The life of a request after judging, for every protocol: forward → record. [`Source`] and
//! [`Sink`] hide the client's protocol; the fronts read heads and refuse to.

mod download;
mod lease;
mod read_ahead;
mod response_head;
mod tunnel;
mod upload;
mod websocket;

use std::cell::Cell;
use std::future::pending;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::AsyncWrite;

use crate::forward::deadlines::ExchangeDeadlines;
use crate::forward::h1::{BadResponse, Response, ResponseBody, Trailers};
use crate::forward::halves::Halves;
use crate::forward::site::Site;
use crate::forward::upstream::{Link, UploadPlace, Upstream, UpstreamError};
use crate::judge::ForwardedRequest;
use crate::judge::guard::Sessions;
use crate::judge::request::{BadRequestError, Field};
use crate::record::{Entry, Limit, Outcome, Reason};
use download::{Download, DownloadOutcome, Interim};
use lease::Next;
use read_ahead::ReadAhead;
use upload::Upload;

/// Read at once from a client or a backend.
pub(crate) const PIECE: usize = 16 * 1024;
/// For how long a session that was looked at needs no second look.
const TRUST_TIME: Duration = Duration::from_millis(100);

/// A request's body, and what else a client may send.
pub(crate) trait Source {
    /// Appends what comes next of the body; `false` at its end.
    async fn next(&mut self, into: &mut Vec<u8>) -> Result<bool, ExchangeError>;

    /// What came behind the body, once that has ended, and may go on.
    fn trailers(&mut self) -> Trailers;

    /// From now on bytes of another protocol come, until the client closes.
    fn upgrade(&mut self);

    /// Ends when the client is gone, and takes nothing that it sends. May never end.
    async fn gone(&mut self);

    /// Ends when the handshake has ended, so that what came early was no replay.
    async fn confirmed(&mut self) -> Result<(), ExchangeError>;
}

/// Where the answer goes.
pub(crate) trait Sink {
    /// Takes a head, to leave with what follows. Fields of one hop are not to be passed on.
    fn head(&mut self, response: &Response<'_>, body: ResponseBody, more: &[Field<'_>]);

    fn push(&mut self, data: &[u8]);

    /// What is there goes at once: who waits for an event must not wait for the next one.
    async fn flush(&mut self) -> io::Result<()>;

    /// What the client gets behind the answer's body, where it takes such; it leaves with the end.
    fn trailers(&mut self, trailers: &Trailers);

    /// The answer is whole.
    async fn end(&mut self) -> io::Result<()>;

    /// May interim answers be passed on?
    fn takes_interim(&self) -> bool;
}

/// Why an exchange did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    #[error("the client: {0}")]
    Client(io::Error),
    #[error("the client is gone")]
    Gone,
    #[error("the client is too slow")]
    Slow(Limit),
    #[error("the request has {0}")]
    Refused(#[from] BadRequestError),
    #[error("no connection: {0}")]
    Upstream(#[from] UpstreamError),
    /// `sent`: something of the request may have arrived.
    #[error("the backend: {source}")]
    Backend { source: io::Error, sent: bool },
    #[error("the backend: {0}")]
    Answer(#[from] BadResponse),
    #[error("the backend does not answer in time")]
    Unanswered,
    #[error("the backend falls silent amid its answer")]
    Silent,
    #[error("the session is over")]
    Over,
}

impl ExchangeError {
    /// What to answer, where nothing was yet.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Client(_) | Self::Gone => None,
            Self::Slow(_) => Some(408),
            Self::Refused(refusal) => Some(refusal.status()),
            Self::Upstream(trouble) => Some(trouble.status()),
            Self::Backend { .. } | Self::Answer(_) => Some(502),
            Self::Unanswered | Self::Silent => Some(504),
            Self::Over => Some(401),
        }
    }

    /// How the exchange is remembered.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Client(_) | Self::Gone => Outcome::ClientGone,
            Self::Backend { .. } | Self::Answer(_) | Self::Upstream(_) => Outcome::BackendGone,
            Self::Slow(_) | Self::Unanswered | Self::Silent => Outcome::TimedOut,
            Self::Over => Outcome::SessionOver,
            Self::Refused(_) => Outcome::Whole,
        }
    }

    pub(crate) fn reason(&self) -> Option<Reason> {
        Some(match self {
            Self::Client(_) | Self::Gone => return None,
            Self::Over => Reason::UnknownSession,
            Self::Slow(_) => Reason::Slow,
            Self::Refused(refusal) => (*refusal).into(),
            Self::Upstream(trouble) => trouble.reason(),
            Self::Backend { .. } => Reason::BackendClosed,
            Self::Answer(_) => Reason::BadAnswer,
            Self::Unanswered | Self::Silent => Reason::BackendSlow,
        })
    }

    /// In seconds.
    pub(crate) fn retry_after(&self) -> u32 {
        match self {
            Self::Upstream(trouble) => trouble.retry_after().unwrap_or(1),
            _ => 1,
        }
    }

    /// Which limit the client has met.
    pub(crate) fn limit(&self) -> Option<Limit> {
        match self {
            Self::Slow(limit) => Some(*limit),
            Self::Refused(refusal) => refusal.limit(),
            _ => None,
        }
    }

    fn lost(source: io::Error) -> Self {
        Self::Backend { source, sent: true }
    }
}

impl ForwardedRequest {
    /// What of a body's trailers the backend is to have: none that the head would not have.
    fn trailers(&self, body: &mut impl Source) -> Trailers {
        let mut trailers = body.trailers();
        if !self.sends_trailers {
            return Trailers::default();
        }
        trailers.retain(|name| !self.route.rewrite.removes(name));
        trailers
    }
}

/// What became of an exchange.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Was the whole body taken from the client?
    pub(crate) uploaded: bool,
    /// The connection now belongs to another protocol, and is over.
    pub(crate) upgraded: bool,
}

/// One exchange's two sides, and what it goes by.
pub(crate) struct Exchange<'a, S, B, A> {
    pub(crate) site: &'a Site<S>,
    pub(crate) asked: &'a ForwardedRequest,
    /// The request as the backend is to have it.
    pub(crate) head: &'a mut Vec<u8>,
    pub(crate) body: &'a mut B,
    pub(crate) answer: &'a mut A,
    pub(crate) deadlines: &'a ExchangeDeadlines,
    pub(crate) entry: &'a mut Entry,
    /// Did something of the answer go to the client? Interim answers are told apart: a final one of
    /// ours may follow them.
    pub(crate) begun: bool,
    pub(crate) interim: bool,
}

impl<S: Sessions, B: Source, A: Sink> Exchange<'_, S, B, A> {
    /// Sends the request and brings the answer; once more, where a kept connection turned out to be
    /// gone, or the backend would rather have it after the handshake.
    pub(crate) async fn forward(&mut self) -> Result<Ended, ExchangeError> {
        let upstream = self.site.upstream(self.asked)?;
        let Some(total) = upstream.total() else {
            return self.attempt(upstream).await;
        };
        let whole = self.deadlines.whole.clone();
        // In its place before it is handed on: a future that moves within another one has two
        // places there.
        let attempt = pin!(self.attempt(upstream));
        let outcome = whole.within(Some(total), attempt).await;
        outcome.unwrap_or(Err(ExchangeError::Unanswered))
    }

    /// Carries the request over one link after the other, until one of them ends it.
    async fn attempt(&mut self, upstream: &Rc<Upstream>) -> Result<Ended, ExchangeError> {
        let (mut link, mut rest) = self.first_link(upstream).await?;
        loop {
            let outcome = self.carry(upstream, &mut link, rest.as_mut()).await;
            match self
                .next_link(upstream, link, outcome, rest.is_some())
                .await?
            {
                Next::Ended(ended) => return Ok(ended),
                Next::Link(next) => link = next,
            }
        }
    }

    /// `rest` is what of the body is not in the head.
    async fn carry(
        &mut self,
        upstream: &Upstream,
        link: &mut Link,
        rest: Option<&mut ReadAhead>,
    ) -> Result<DownloadOutcome, ExchangeError> {
        let (stream, buffer, place) = link.parts();
        let halves = Halves::new(stream);
        let (mut from, mut to) = (halves.reading(), halves.writing());
        upload::head(self.head, &mut to).await?;
        self.entry.sent = Some(Instant::now());
        let uploading = Cell::new(rest.is_some());
        let bytes_up = Cell::new(0);
        let mut download = Download {
            asked: self.asked,
            site: self.site,
            upstream,
            deadlines: self.deadlines,
            uploading: &uploading,
            from: &mut from,
            buffer,
            to: &mut *self.answer,
            begun: &mut self.begun,
            passed_interim: &mut self.interim,
            entry: &mut *self.entry,
            interim: Interim::default(),
        };
        let Some(rest) = rest else {
            return download.run(Some((&mut *self.body, &mut to))).await;
        };
        let mut upload = Upload::new(
            self.site,
            upstream,
            self.asked,
            self.deadlines,
            &mut *self.body,
            &mut to,
            &bytes_up,
        );
        let got = {
            let down = pin!(download.run::<B, tokio::io::Sink>(None));
            both(down, &mut upload, rest, &uploading, place).await
        };
        self.entry.bytes_up += bytes_up.get();
        got
    }
}

/// The body goes up while the answer may already come down.
async fn both<S, B: Source, W: AsyncWrite + Unpin>(
    mut download: Pin<&mut impl Future<Output = Result<DownloadOutcome, ExchangeError>>>,
    upload: &mut Upload<'_, S, B, W>,
    rest: &mut ReadAhead,
    uploading: &Cell<bool>,
    place: UploadPlace<'_>,
) -> Result<DownloadOutcome, ExchangeError> {
    let sent = tokio::select! {
        biased;
        got = &mut download => return got.map(|got| got.after_upload(false)),
        sent = upload.run(rest) => sent,
    };
    let lost = match sent {
        Err(lost @ ExchangeError::Backend { .. }) => Some(lost),
        sent => {
            sent?;
            None
        }
    };
    uploading.set(false);
    place.leave();
    // From now on it is the backend that is waited for.
    upload.deadlines.down.restart();
    if let Some(lost) = lost {
        // It takes no more, and may have said why. RFC 9112 §9.5.
        let got = download.await.map_err(|_| lost);
        return got.map(|got| got.after_upload(false));
    }
    tokio::select! {
        biased;
        got = download => got,
        () = upload.body.gone(), if !upload.asked.route.half_close => Err(ExchangeError::Gone),
    }
}

/// Would the session that let the request in let it in now?
async fn admitted<S: Sessions>(
    site: &Site<S>,
    asked: &ForwardedRequest,
) -> Result<(), ExchangeError> {
    match &asked.session {
        Some(session) if !site.policy.authenticator.admits(session).await => {
            Err(ExchangeError::Over)
        }
        _ => Ok(()),
    }
}

/// Ends when it would not.
async fn over<S: Sessions>(site: &Site<S>, asked: &ForwardedRequest) {
    match &asked.session {
        Some(session) => site.policy.authenticator.over(session).await,
        None => pending().await,
    }
}
