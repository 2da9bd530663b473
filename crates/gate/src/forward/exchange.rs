//! The life of a request after judging, for every protocol: forward → record. [`Source`] and
//! [`Sink`] hide the client's protocol; the fronts read heads and answer refused requests.

mod buffered;
mod download;
mod gather;
mod lease;
mod rate;
mod read_ahead;
mod read_rate;
mod response_head;
mod tunnel;
mod upload;
mod websocket;
mod writer;

pub(crate) use read_rate::TcpMeter;

use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::io::AsyncWrite;

use crate::config::UpstreamProtocol;
use crate::forward::deadlines::{Elapsed, ExchangeDeadlines};
use crate::forward::h1::{Response, ResponseBody, ResponseError, Trailers};
use crate::forward::site::Site;
use crate::forward::split::SplitStream;
use crate::forward::upstream::{HeldConnection, Link, Upstream, UpstreamError};
use crate::judge::ForwardedRequest;
use crate::judge::guard::Sessions;
use crate::judge::request::{BadRequestError, Field};
use crate::record::{Entry, Limit, Outcome, Reason};
use download::{Download, DownloadOutcome, Interim};
use lease::{Next, Retries};
use upload::{KeptBody, Rest, Upload};
use writer::RequestWriter;

/// The largest number of bytes that are read at once from a client or a backend.
pub(crate) const PIECE: usize = 16 * 1024;
/// How long a checked session needs no second check.
const TRUST_TIME: Duration = Duration::from_millis(100);

/// The time after which the client and its session are watched. Most exchanges with the backend
/// finish sooner, so watching is not worthwhile before that. Deadlines round it up by up to half a
/// second.
const WATCHED_AFTER: Duration = Duration::from_millis(1);

/// A request's body, and whatever else a client may send.
pub(crate) trait Source {
    /// Appends the next part of the body; `false` at its end.
    async fn next(&mut self, into: &mut Vec<u8>) -> Result<bool, ExchangeError>;

    /// Returns the trailers that may pass, once the body has ended.
    fn trailers(&mut self) -> Trailers;

    /// Notes that the client sends another protocol from now on, until it closes.
    fn upgrade(&mut self);

    /// Ends when the client has left, without reading its data. May never end.
    async fn gone(&mut self);

    /// Ends when the handshake is complete, so that early data was no replay.
    async fn confirmed(&mut self) -> Result<(), ExchangeError>;
}

/// Writes the answer to the client.
pub(crate) trait Sink {
    /// Takes a head, which is sent together with the next bytes. Hop-by-hop fields must not be
    /// passed on.
    fn head(&mut self, response: &Response<'_>, body: ResponseBody, more: &[Field<'_>]);

    fn push(&mut self, data: &[u8]);

    /// Sends everything now: a client that waits for one event must not have to wait for the next.
    async fn flush(&mut self) -> io::Result<()>;

    /// Takes the trailers for the client, if it accepts any; they are sent with the end.
    fn trailers(&mut self, trailers: &Trailers);

    /// The answer is complete.
    async fn end(&mut self) -> io::Result<()>;

    /// Shows what the client takes while a flush waits; `None` if several answers share the socket.
    fn meter(&self) -> Option<TcpMeter> {
        None
    }

    /// Whether interim answers may be passed on.
    fn takes_interim(&self) -> bool;
}

/// Why an exchange failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    #[error("the client: {0}")]
    Client(io::Error),
    #[error("the client is gone")]
    Gone,
    #[error("the client is too slow")]
    Slow(Limit),
    #[error("there is no room for the body")]
    NoRoom(Limit),
    #[error("the request has {0}")]
    Refused(#[from] BadRequestError),
    #[error("no connection: {0}")]
    Upstream(#[from] UpstreamError),
    /// `sent`: some of the request may have arrived.
    #[error("the backend: {source}")]
    Backend { source: io::Error, sent: bool },
    #[error("the backend: {0}")]
    Answer(#[from] ResponseError),
    #[error("the backend does not answer in time")]
    Unanswered,
    #[error("the backend stopped sending before the end of its answer")]
    Silent,
    #[error("the session is over")]
    Over,
}

impl ExchangeError {
    /// The status to answer with if the client has no answer yet.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Client(_) | Self::Gone => None,
            Self::Slow(_) => Some(408),
            Self::NoRoom(Limit::BufferedPerClient) => Some(429),
            Self::NoRoom(_) => Some(503),
            Self::Refused(refusal) => Some(refusal.status()),
            Self::Upstream(trouble) => Some(trouble.status()),
            Self::Backend { .. } | Self::Answer(_) => Some(502),
            Self::Unanswered | Self::Silent => Some(504),
            Self::Over => Some(401),
        }
    }

    /// How the exchange is recorded.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Client(_) | Self::Gone => Outcome::ClientGone,
            Self::Upstream(trouble) => trouble.outcome(),
            Self::Backend { .. } | Self::Answer(_) => Outcome::BackendGone,
            Self::Slow(_) | Self::Unanswered | Self::Silent => Outcome::TimedOut,
            Self::Over => Outcome::SessionOver,
            Self::Refused(_) | Self::NoRoom(_) => Outcome::Whole,
        }
    }

    pub(crate) fn reason(&self) -> Option<Reason> {
        Some(match self {
            Self::Client(_) | Self::Gone => return None,
            Self::Over => Reason::UnknownSession,
            Self::Slow(_) => Reason::Slow,
            Self::NoRoom(Limit::BufferedPerClient) => Reason::TooMany,
            Self::NoRoom(_) => Reason::BufferFull,
            Self::Refused(refusal) => (*refusal).into(),
            Self::Upstream(trouble) => trouble.reason(),
            Self::Backend { .. } => Reason::BackendClosed,
            Self::Answer(_) => Reason::BadAnswer,
            Self::Unanswered | Self::Silent => Reason::BackendSlow,
        })
    }

    /// The `Retry-After` value in seconds.
    pub(crate) fn retry_after(&self) -> u32 {
        match self {
            Self::Upstream(trouble) => trouble.retry_after().unwrap_or(1),
            _ => 1,
        }
    }

    /// Which limit the client has reached.
    pub(crate) fn limit(&self) -> Option<Limit> {
        match self {
            Self::Slow(limit) | Self::NoRoom(limit) => Some(*limit),
            Self::Refused(refusal) => refusal.limit(),
            _ => None,
        }
    }

    fn lost(source: io::Error) -> Self {
        Self::Backend { source, sent: true }
    }
}

impl ForwardedRequest {
    /// The body's trailers for the backend, without fields that must not be in its head either.
    fn trailers(&self, body: &mut impl Source) -> Trailers {
        let mut trailers = body.trailers();
        if !self.sends_trailers {
            return Trailers::default();
        }
        trailers.retain(|name| !self.route.rewrite.removes(name));
        trailers
    }
}

/// How an exchange ended.
#[derive(Debug)]
pub(crate) struct ExchangeEnd {
    /// Whether the whole body was read from the client.
    pub(crate) uploaded: bool,
    /// Whether the connection was switched to another protocol, which has ended.
    pub(crate) upgraded: bool,
}

/// One exchange: its client and upstream, and the result of its judgement.
pub(crate) struct Exchange<'a, S, B, A> {
    pub(crate) site: &'a Site<S>,
    pub(crate) asked: &'a ForwardedRequest,
    /// The request head for the backend.
    pub(crate) head: &'a mut Vec<u8>,
    pub(crate) body: &'a mut B,
    pub(crate) answer: &'a mut A,
    pub(crate) deadlines: &'a ExchangeDeadlines,
    pub(crate) entry: &'a mut Entry,
    /// Counts the memory of a buffered body, which has grown to this many bytes.
    pub(crate) buffer: &'a dyn Fn(usize) -> Result<(), Limit>,
    /// Whether part of the answer went to the client. Interim answers do not count, because gate's
    /// own final answer may follow them.
    pub(crate) begun: bool,
    pub(crate) interim: bool,
}

impl<S: Sessions, B: Source, A: Sink> Exchange<'_, S, B, A> {
    /// Sends the request and carries the answer. Tries once more if a kept connection turned out to
    /// be closed, or if the backend wants the request after the handshake (425).
    pub(crate) async fn forward(&mut self) -> Result<ExchangeEnd, ExchangeError> {
        let upstream = self.site.upstream(self.asked)?;
        let Some(total) = upstream.total() else {
            return self.attempt(upstream).await;
        };
        let deadlines = self.deadlines;
        deadlines.begin();
        // Pinned before it is passed on: a future that is moved into another one takes up its space
        // twice.
        let attempt = pin!(self.attempt(upstream));
        let outcome = deadlines.whole.within(Some(total), attempt).await;
        outcome.unwrap_or_else(|Elapsed| {
            Err(if deadlines.waited_mostly_for_client(total) {
                ExchangeError::Slow(Limit::Total)
            } else {
                ExchangeError::Unanswered
            })
        })
    }

    /// Sends the request over one connection after another, until one of them ends the exchange.
    async fn attempt(&mut self, upstream: &Rc<Upstream>) -> Result<ExchangeEnd, ExchangeError> {
        let (mut link, mut rest) = self.first_link(upstream).await?;
        let mut retries = Retries::default();
        loop {
            let outcome = self.carry(upstream, &mut link, rest.as_mut()).await;
            let next = self.next_link(upstream, link, outcome, rest.as_mut(), &mut retries);
            match next.await? {
                Next::Ended(ended) => {
                    self.end(upstream).await?;
                    return Ok(ended);
                }
                Next::Link(next) => link = next,
            }
        }
    }

    /// Sends the last part of the answer. The exchange no longer holds a connection to the backend,
    /// however slowly the client reads.
    async fn end(&mut self, upstream: &Upstream) -> Result<(), ExchangeError> {
        self.begun = true;
        let (site, asked) = (self.site, self.asked);
        let mut ending = pin!(self.answer.end());
        let ended = match poll_fn(|cx| Poll::Ready(ending.as_mut().poll(cx))).await {
            Poll::Ready(ended) => ended,
            // Boxed, because most clients take the rest at once.
            Poll::Pending => {
                let down = self.deadlines.down.within(upstream.silence(), ending);
                let body = &mut *self.body;
                let taken = async {
                    tokio::select! {
                        biased;
                        ended = down => ended.map_err(|_| ExchangeError::Slow(Limit::ReadRate)),
                        () = over(site, asked) => Err(ExchangeError::Over),
                        () = body.gone(), if !asked.route.half_close => Err(ExchangeError::Gone),
                    }
                };
                Box::pin(taken).await?
            }
        };
        ended.map_err(ExchangeError::Client)?;
        let now = Instant::now();
        self.entry.passed_on.get_or_insert(now);
        self.entry.ended = Some(now);
        Ok(())
    }

    /// `rest` is the part of the body that does not follow the head in `self.head`.
    async fn carry(
        &mut self,
        upstream: &Upstream,
        link: &mut Link,
        rest: Option<&mut Rest>,
    ) -> Result<DownloadOutcome, ExchangeError> {
        let (stream, buffer, held) = link.parts();
        let halves = SplitStream::new(stream);
        let (mut from, mut to) = (halves.reading(), halves.writing());
        let mut writer = RequestWriter::new(
            self.site,
            upstream,
            self.asked,
            self.deadlines,
            &mut *self.body,
            &mut to,
        );
        let lost = match writer.write(self.head).await {
            Err(lost @ ExchangeError::Backend { sent: true, .. }) => Some(lost),
            written => written.map(|()| None)?,
        };
        self.entry.sent = Some(Instant::now());
        let uploading = Cell::new(rest.is_some() && lost.is_none());
        let answered = Cell::new(false);
        let mut download = Download {
            asked: self.asked,
            site: self.site,
            upstream,
            deadlines: self.deadlines,
            uploading: &uploading,
            answered: &answered,
            from: &mut from,
            buffer,
            to: &mut *self.answer,
            begun: &mut self.begun,
            passed_interim: &mut self.interim,
            entry: &mut *self.entry,
            interim: Interim::default(),
            held,
        };
        let Some(rest) = rest.filter(|_| lost.is_none()) else {
            let got = download.run(Some((writer.body, writer.to))).await;
            return match lost {
                None => got,
                Some(lost) => reason(lost, got),
            };
        };
        let may_repeat = upstream.protocol() == UpstreamProtocol::H2 || self.asked.idempotent;
        let most = usize::try_from(self.site.policy.limits.body_ahead.0).unwrap_or(usize::MAX);
        let kept = KeptBody {
            most: if may_repeat { most } else { 0 },
            buffer: self.buffer,
            answered: &answered,
        };
        let mut upload = Upload::new(writer, kept);
        let got = {
            let down = pin!(download.run::<B, tokio::io::Sink>(None));
            both(down, &mut upload, rest, &uploading, held).await
        };
        if let Rest::Arriving(body) = rest {
            self.entry.bytes_up = body.total();
        }
        got
    }
}

/// Sends the body while the answer may already arrive.
async fn both<S: Sessions, B: Source, W: AsyncWrite + Unpin>(
    mut download: Pin<&mut impl Future<Output = Result<DownloadOutcome, ExchangeError>>>,
    upload: &mut Upload<'_, S, B, W>,
    rest: &mut Rest,
    uploading: &Cell<bool>,
    held: HeldConnection<'_>,
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
    held.uploaded();
    // Gate waits for the backend from now on.
    upload.writer.deadlines.down.restart();
    if let Some(lost) = lost {
        return reason(lost, download.await);
    }
    tokio::select! {
        biased;
        got = download => got,
        () = upload.writer.body.gone(), if !upload.writer.asked.route.half_close => Err(ExchangeError::Gone),
    }
}

/// The backend accepts no more of the request, and may have sent the reason. RFC 9112 §9.5.
fn reason(
    lost: ExchangeError,
    got: Result<DownloadOutcome, ExchangeError>,
) -> Result<DownloadOutcome, ExchangeError> {
    match got {
        Err(ExchangeError::Backend { .. }) => Err(lost),
        got => got.map(|got| got.after_upload(false)),
    }
}

/// Returns an error if the session that admitted the request would not admit it now.
async fn admitted<S: Sessions>(
    site: &Site<S>,
    asked: &ForwardedRequest,
) -> Result<(), ExchangeError> {
    match &asked.session {
        Some(session) => {
            let require = &asked.route.require;
            let admitted = site.policy.authenticator.admits(session, require).await;
            admitted.then_some(()).ok_or(ExchangeError::Over)
        }
        None => Ok(()),
    }
}

/// Waits until the session would no longer admit the request.
async fn over<S: Sessions>(site: &Site<S>, asked: &ForwardedRequest) {
    match &asked.session {
        Some(session) => {
            let require = &asked.route.require;
            site.policy.authenticator.over(session, require).await;
        }
        None => pending().await,
    }
}
