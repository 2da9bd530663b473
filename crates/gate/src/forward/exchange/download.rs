//! Carries the answer from the backend to the client, in pieces as they arrive.

use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::gather::Gather;

use super::rate::{SLOT, TooSlow};
use super::read_rate::ReadRate;
use super::{
    ExchangeEnd, ExchangeError, PIECE, Sink, Source, TRUST_TIME, WATCHED_AFTER, admitted, over,
    response_head, tunnel,
};
use crate::config::UpstreamProtocol;
use crate::forward::deadlines::ExchangeDeadlines;
use crate::forward::h1::{self, Chunked, ResponseBody, ResponseError};
use crate::forward::site::Site;
use crate::forward::upstream::{HeldConnection, Upstream};
use crate::judge::ForwardedRequest;
use crate::judge::guard::Sessions;
use crate::record::{Early, Entry, Limit, server_timing};

/// The largest number of bytes of interim answers that a backend may send. The time limit for them
/// is configured.
const MAX_INTERIM: usize = 256 * 1024;

/// The largest number of bytes that are read at once for a client that takes everything
/// immediately.
const LARGE_PIECE: usize = 4 * PIECE;

/// How a download ended.
#[derive(Debug)]
pub(super) enum DownloadOutcome {
    /// The whole answer has arrived; the sink holds its last part.
    Whole {
        link_stays: bool,
        ended: ExchangeEnd,
    },
    /// The answer is 425; nothing was sent to the client. RFC 8470 §5.2.
    TooEarly { link_stays: bool },
}

impl DownloadOutcome {
    /// Keeps the connection only if the whole request was sent; otherwise the backend would take
    /// the next request for the rest of this one.
    pub(super) fn after_upload(self, uploaded: bool) -> Self {
        match self {
            Self::Whole { link_stays, ended } => Self::Whole {
                link_stays: link_stays && uploaded,
                ended: ExchangeEnd { uploaded, ..ended },
            },
            early @ Self::TooEarly { .. } => early,
        }
    }
}

pub(super) struct Download<'a, S, R, A> {
    pub(super) asked: &'a ForwardedRequest,
    pub(super) site: &'a Site<S>,
    pub(super) upstream: &'a Upstream,
    pub(super) deadlines: &'a ExchangeDeadlines,
    /// Whether the request's body is still being sent.
    pub(super) uploading: &'a Cell<bool>,
    /// Whether the final head has arrived.
    pub(super) answered: &'a Cell<bool>,
    pub(super) from: &'a mut R,
    /// Bytes from the backend that have not been used; those that follow the answer stay in it.
    pub(super) buffer: &'a mut Vec<u8>,
    pub(super) to: &'a mut A,
    pub(super) begun: &'a mut bool,
    pub(super) passed_interim: &'a mut bool,
    pub(super) entry: &'a mut Entry,
    pub(super) interim: Interim,
    pub(super) held: HeldConnection<'a>,
}

/// The interim answers so far.
#[derive(Default)]
pub(super) struct Interim {
    bytes: usize,
    since: Option<Instant>,
}

impl Interim {
    fn take(&mut self, length: usize, most: Option<Duration>) -> Result<(), ExchangeError> {
        self.bytes += length;
        let since = self.since.get_or_insert_with(Instant::now);
        if self.bytes > MAX_INTERIM {
            return Err(ResponseError::TooLarge.into());
        }
        if most.is_some_and(|most| since.elapsed() >= most) {
            return Err(ExchangeError::Unanswered);
        }
        Ok(())
    }
}

/// The facts in the head about the rest of the answer.
#[derive(Debug, Clone, Copy)]
struct AnswerFacts {
    status: u16,
    body: ResponseBody,
    link_stays: bool,
    /// `Connection` names no field, so it names no trailer either.
    trailers: bool,
}

/// Whether this answer to early data wants the request after the handshake. RFC 8470 §5.2.
fn is_too_early(status: u16, body: ResponseBody) -> bool {
    status == 425 && body == ResponseBody::None
}

impl<S: Sessions, R: Gather, A: Sink> Download<'_, S, R, A> {
    /// Downloads the answer. While no request body is being sent, `client` reads further bytes from
    /// the client and writes them to the backend.
    pub(super) async fn run<B: Source, W: AsyncWrite + Unpin>(
        &mut self,
        mut client: Option<(&mut B, &mut W)>,
    ) -> Result<DownloadOutcome, ExchangeError> {
        let rest = self.heads(&mut client).await?;
        self.answered.set(true);
        // A second 425 is an answer like any other.
        if self.entry.early == Some(Early::Passed) && is_too_early(rest.status, rest.body) {
            let link_stays = rest.link_stays;
            return Ok(DownloadOutcome::TooEarly { link_stays });
        }
        // Borrowed separately, because the futures that may end the exchange are polled at the same
        // time.
        let asked = self.asked;
        let over = over(self.site, asked);
        let mut body = BodyDownload {
            deadlines: self.deadlines,
            silence: if asked.route.streams {
                None
            } else {
                self.upstream.silence()
            },
            from: &mut *self.from,
            buffer: &mut *self.buffer,
            to: &mut *self.to,
            begun: &mut *self.begun,
            entry: &mut *self.entry,
            trailers: rest.trailers,
            piece: PIECE,
            flushed: 0,
            rate: ReadRate::new(self.held, self.site.policy.limits.read_rate.0),
        };
        if rest.status == 101 {
            self.held.detach();
            let (source, way) = client.ok_or(ResponseError::NotHttp)?;
            tokio::select! {
                biased;
                ended = tunnel::run(source, way, &mut body) => ended?,
                () = over => return Err(ExchangeError::Over),
            }
            return Ok(whole(false, true));
        }
        let is_here = match rest.body {
            ResponseBody::None => true,
            ResponseBody::Length(length) => body.buffer.len() as u64 >= length,
            ResponseBody::Chunked | ResponseBody::UntilClose => false,
        };
        if asked.route.streams && !is_here {
            self.held.detach();
        }
        match (rest.body, client) {
            (ResponseBody::None, _) => {}
            // Usually the whole body has arrived, so the client need not be watched.
            (ResponseBody::Length(length), _) if is_here => body.counted(length).await?,
            // This may last for days. If the client is not watched here, the upload watches it.
            (_, Some((source, _))) => tokio::select! {
                biased;
                ended = body.rest(rest.body) => ended?,
                () = over => return Err(ExchangeError::Over),
                () = source.gone(), if !asked.route.half_close => return Err(ExchangeError::Gone),
            },
            (_, None) => tokio::select! {
                biased;
                ended = body.rest(rest.body) => ended?,
                () = over => return Err(ExchangeError::Over),
            },
        }
        Ok(whole(
            rest.link_stays && rest.body != ResponseBody::UntilClose,
            false,
        ))
    }

    /// Passes interim answers on, and leaves the final head with the sink.
    async fn heads<B: Source, W>(
        &mut self,
        client: &mut Option<(&mut B, &mut W)>,
    ) -> Result<AnswerFacts, ExchangeError> {
        // When the head that is incomplete began.
        let mut began = None;
        loop {
            let (asked, site, to) = (self.asked, self.site, &mut *self.to);
            let interim_taken = to.takes_interim();
            let id = self.entry.caller.id;
            // Holds the few bytes of `Server-Timing`, if the route adds it.
            let mut timing = Vec::new();
            if asked.route.server_timing && !self.buffer.is_empty() {
                let now = Instant::now();
                self.entry.first_byte.get_or_insert(now);
                server_timing(self.entry, now, &mut timing);
            }
            let awaits_too_early = self.entry.early == Some(Early::Passed);
            // Streams of HTTP/2 are apart from each other.
            let is_stream = self.upstream.protocol() == UpstreamProtocol::H2;
            let read = h1::response(self.buffer, |response| {
                let status = response.status;
                let body = if status == 101 && asked.upgrade.is_some() {
                    ResponseBody::UntilClose
                } else {
                    response.body(asked.is_head)?
                };
                let is_too_early = awaits_too_early && is_too_early(status, body);
                let is_interim = status < 200 && status != 101;
                if !is_too_early && (!is_interim || interim_taken) {
                    let login = site.policy.login.as_ref();
                    if is_interim {
                        response_head::interim(login, response, body, to);
                    } else {
                        let mut room = [roundtrip_wire::http1::EMPTY_FIELD; 4];
                        let more = site.fields(asked, response, &timing, id.as_bytes(), &mut room);
                        response_head::head(asked, login, response, body, more, to)?;
                    }
                }
                Ok::<_, ResponseError>(AnswerFacts {
                    status,
                    body,
                    link_stays: response.keeps() && (is_stream || asked.reuse.allows(status)),
                    trailers: !response.names_fields(),
                })
            })?;
            let Some((rest, length)) = read else {
                let client = client.as_mut().map(|(source, _)| &mut **source);
                let passed = began.map_or(Duration::ZERO, |began: Instant| began.elapsed());
                self.fill_first(client, passed).await?;
                began.get_or_insert_with(Instant::now);
                continue;
            };
            began = None;
            let rest = rest?;
            self.buffer.drain(..length);
            let upgrade = self.asked.upgrade.as_ref();
            if rest.status >= 200 || (rest.status == 101 && upgrade.is_some()) {
                self.entry.status = match upgrade {
                    Some(upgrade) if rest.status == 101 && upgrade.over_stream => 200,
                    _ => rest.status,
                };
                self.entry.first_byte = Some(Instant::now());
                return Ok(rest);
            }
            if rest.status == 101 {
                return Err(ResponseError::NotHttp.into());
            }
            self.interim.take(length, self.upstream.interim())?;
            // RFC 9110 §15.2: HTTP/1.0 has no interim answers.
            if interim_taken {
                *self.passed_interim = true;
                let span = self.upstream.first_byte();
                let flushed = self.deadlines.down.within(span, self.to.flush()).await;
                flushed
                    .map_err(|_| ExchangeError::Slow(Limit::BodyRate))?
                    .map_err(ExchangeError::Client)?;
            }
        }
    }

    /// An answer cannot be late while its request is still being sent. The wait ends if the client
    /// leaves or its session ends. `passed` is the time since the head began.
    async fn fill_first<B: Source>(
        &mut self,
        client: Option<&mut B>,
        passed: Duration,
    ) -> Result<(), ExchangeError> {
        let (asked, site) = (self.asked, self.site);
        let mut left = self.upstream.first_byte();
        if !self.uploading.get() {
            left = left.map(|span| span.saturating_sub(passed));
            if left == Some(Duration::ZERO) {
                return Err(ExchangeError::Unanswered);
            }
        }
        let soon = left.map_or(WATCHED_AFTER, |span| span.min(WATCHED_AFTER));
        let (buffer, from, down) = (&mut *self.buffer, &mut *self.from, &self.deadlines.down);
        if let Ok(filled) = down.within(Some(soon), fill(buffer, from, PIECE)).await {
            filled.map_err(ExchangeError::lost)?;
        } else {
            left = left.map(|span| span.saturating_sub(soon));
            let gone = async {
                match client {
                    Some(client) if !asked.route.half_close => client.gone().await,
                    _ => pending().await,
                }
            };
            let (mut gone, mut over) = (pin!(gone), pin!(over(site, asked)));
            loop {
                let filled = tokio::select! {
                    biased;
                    filled = down.within(left, fill(buffer, from, PIECE)) => filled,
                    () = &mut gone => return Err(ExchangeError::Gone),
                    () = &mut over => return Err(ExchangeError::Over),
                };
                match filled {
                    Ok(filled) => {
                        filled.map_err(ExchangeError::lost)?;
                        break;
                    }
                    Err(_) if self.uploading.get() => {}
                    Err(_) => return Err(ExchangeError::Unanswered),
                }
            }
        }
        match self.entry.sent {
            Some(sent) if sent.elapsed() < TRUST_TIME => Ok(()),
            _ => admitted(site, asked).await,
        }
    }
}

fn whole(link_stays: bool, upgraded: bool) -> DownloadOutcome {
    let ended = ExchangeEnd {
        uploaded: true,
        upgraded,
    };
    DownloadOutcome::Whole { link_stays, ended }
}

/// The body that follows the head. Its last part stays in the sink, because the connection to the
/// backend is returned before the client has taken it.
pub(super) struct BodyDownload<'a, R, A> {
    deadlines: &'a ExchangeDeadlines,
    silence: Option<std::time::Duration>,
    from: &'a mut R,
    buffer: &'a mut Vec<u8>,
    to: &'a mut A,
    /// Whether something has been sent to the client. Until then, another answer is possible.
    begun: &'a mut bool,
    entry: &'a mut Entry,
    trailers: bool,
    /// The largest number of bytes to read at once.
    piece: usize,
    /// The bytes of the body that the client had taken after the last flush.
    flushed: u64,
    rate: ReadRate<'a>,
}

impl<R: Gather, A: Sink> BodyDownload<'_, R, A> {
    async fn counted(&mut self, mut left: u64) -> Result<(), ExchangeError> {
        loop {
            let here = self
                .buffer
                .len()
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            self.to.push(self.buffer.get(..here).unwrap_or_default());
            self.entry.bytes_down += here as u64;
            self.buffer.drain(..here);
            left -= here as u64;
            if left == 0 {
                return Ok(());
            }
            self.flush().await?;
            self.fill().await?;
        }
    }

    async fn rest(&mut self, body: ResponseBody) -> Result<(), ExchangeError> {
        match body {
            ResponseBody::Length(length) => self.counted(length).await,
            ResponseBody::Chunked => self.chunked().await,
            _ => self.until_close().await,
        }
    }

    async fn chunked(&mut self) -> Result<(), ExchangeError> {
        let mut coding = Chunked::default();
        loop {
            let (to, bytes) = (&mut *self.to, &mut self.entry.bytes_down);
            let used = coding.take(self.buffer, |data| {
                *bytes += data.len() as u64;
                to.push(data);
            });
            let used = used.map_err(|_| ResponseError::NotHttp)?;
            self.buffer.drain(..used);
            if coding.is_done() {
                if self.trailers {
                    self.to.trailers(&coding.trailers());
                }
                return Ok(());
            }
            self.flush().await?;
            self.fill().await?;
        }
    }

    pub(super) async fn until_close(&mut self) -> Result<(), ExchangeError> {
        loop {
            if !self.buffer.is_empty() {
                self.to.push(self.buffer);
                self.entry.bytes_down += self.buffer.len() as u64;
                self.buffer.clear();
            }
            self.flush().await?;
            match self.fill().await {
                Err(ExchangeError::Backend { source, .. })
                    if source.kind() == io::ErrorKind::UnexpectedEof =>
                {
                    return Ok(());
                }
                filled => filled?,
            }
        }
    }

    async fn fill(&mut self) -> Result<(), ExchangeError> {
        let before = self.buffer.len();
        let filling = fill(self.buffer, self.from, self.piece);
        match self.deadlines.down.within(self.silence, filling).await {
            Ok(filled) => filled.map_err(ExchangeError::lost)?,
            Err(_) => return Err(ExchangeError::Silent),
        }
        if self.buffer.len() - before >= self.piece {
            self.piece = LARGE_PIECE;
        }
        Ok(())
    }

    /// Ends the exchange of a client that reads nothing for as long as a backend may be silent, or
    /// that reads slowly while others wait for its connection.
    async fn flush(&mut self) -> Result<(), ExchangeError> {
        *self.begun = true;
        let bytes = self.entry.bytes_down.saturating_sub(self.flushed);
        self.flushed = self.entry.bytes_down;
        self.rate.prepare(self.flushed, || self.to.meter());
        let mut flushing = pin!(self.to.flush());
        if let Poll::Ready(flushed) = poll_fn(|cx| Poll::Ready(flushing.as_mut().poll(cx))).await {
            flushed.map_err(ExchangeError::Client)?;
            self.rate.took(bytes);
        } else {
            // There may be many slow clients, so they get small buffers.
            self.piece = PIECE;
            if self.buffer.is_empty() {
                self.buffer.shrink_to(PIECE);
            }
            self.rate.begin_to_wait();
            let mut left = self.silence;
            loop {
                let (began, slot) = (Instant::now(), left.map_or(SLOT, |left| left.min(SLOT)));
                let from = &mut *self.from;
                let flushed = poll_fn(|cx| {
                    from.gather(cx);
                    flushing.as_mut().poll(cx)
                });
                let flushed = self.deadlines.down.within(Some(slot), flushed).await;
                let taken = if flushed.is_ok() { bytes } else { 0 };
                let rate = self.rate.waited(began.elapsed(), taken);
                let is_flushed = flushed.is_ok();
                flushed.unwrap_or(Ok(())).map_err(ExchangeError::Client)?;
                rate.map_err(|TooSlow| ExchangeError::Slow(Limit::ReadRate))?;
                if is_flushed {
                    break;
                }
                left = left.map(|left| left.saturating_sub(slot));
                if left.is_some_and(|left| left.is_zero()) {
                    return Err(ExchangeError::Slow(Limit::ReadRate));
                }
            }
        }
        self.entry.passed_on.get_or_insert_with(Instant::now);
        Ok(())
    }
}

/// Reads one more piece; an end of the stream is an error.
async fn fill(
    buffer: &mut Vec<u8>,
    from: &mut (impl AsyncRead + Unpin),
    piece: usize,
) -> io::Result<()> {
    buffer.reserve(piece);
    match from.read_buf(buffer).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}
