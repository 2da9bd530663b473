//! The HTTP/1.1 and HTTP/1.0 front: one exchange after another on one byte stream. RFC 9112.

mod answer;
mod body;

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadBuf};

use super::streams::whole;
use crate::accept::buffer_pool::BufferPool;
use crate::accept::stream::{Peer, Stream};
use crate::accept::thread::{Running, Thread};
use crate::forward::deadlines::{Elapsed, ExchangeDeadlines};
use crate::forward::exchange::{Exchange, ExchangeError, PIECE, Sink, Source};
use crate::forward::h1;
use crate::forward::site::Site;
use crate::forward::split::SplitStream;
use crate::judge::guard::Sessions;
use crate::judge::request::{BadRequestError, Body};
use crate::judge::{
    Admitted, CorsHeaders, ForwardedRequest, LoginRequest, MAX_FORM, OwnAnswer, RequestContext,
    Verdict, judge_arrival,
};
use crate::record::{Early, Entry, Limit, Protocol, Reason, RequestId};
use answer::Answer;
use body::RequestBody;

/// How long a connection keeps its buffers after an exchange.
const SHORT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a client may keep sending, without being read, after the last answer.
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest number of bytes of a new request that are read at once.
const FIRST_READ: usize = PIECE / 4;

/// A client's connection.
struct Client<IO> {
    stream: IO,
    peer: Peer,
    deadlines: ExchangeDeadlines,
    /// Bytes that were read and not yet used, and whether some of them are early data.
    buffer: Vec<u8>,
    early: bool,
    /// The head for the backend, and the bytes that wait to be written to the client.
    head: Vec<u8>,
    out: Vec<u8>,
    served: u64,
    parting: CloseMode,
    /// The entry of the present exchange.
    entry: Entry,
}

/// The outcome of reading a head.
enum Accepted {
    Forward(ForwardedRequest),
    Answer(OwnAnswer),
    /// The client has closed, was silent for too long, or gate is about to end.
    Over,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CloseMode {
    Quiet,
    /// The connection ends while the client may still be sending.
    Unheard,
    /// Closing with a FIN would look like the end of the answer, so the connection is reset.
    Abrupt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Another,
    Close,
}

/// Serves one request after another, until the connection ends.
pub(crate) async fn serve<S: Sessions>(
    stream: impl Stream,
    peer: Peer,
    thread: &Thread<S>,
) -> Result<(), ExchangeError> {
    let mut client = Client {
        stream,
        peer,
        deadlines: thread.deadlines.for_exchange(),
        buffer: Vec::new(),
        early: false,
        head: Vec::new(),
        out: Vec::new(),
        served: 0,
        parting: CloseMode::Quiet,
        entry: thread.entry(peer, Protocol::H1),
    };
    let outcome = loop {
        match client.exchange(thread).await {
            Ok(Next::Another) => {}
            Ok(Next::Close) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    client.part(thread.is_draining()).await;
    thread.deadlines.give_back(client.deadlines);
    outcome
}

/// Reads the beginning of a request. It holds no buffers until something arrives.
async fn begin(
    stream: &mut impl Stream,
    buffer: &mut Vec<u8>,
    spare: &BufferPool,
) -> io::Result<usize> {
    poll_fn(|cx| {
        let mut room = [MaybeUninit::uninit(); FIRST_READ];
        let mut room = ReadBuf::uninit(&mut room);
        ready!(Pin::new(&mut *stream).poll_read(cx, &mut room))?;
        spare.lend(buffer);
        buffer.extend_from_slice(room.filled());
        Poll::Ready(Ok(room.filled().len()))
    })
    .await
}

impl<IO: Stream> Client<IO> {
    async fn exchange<S: Sessions>(&mut self, thread: &Thread<S>) -> Result<Next, ExchangeError> {
        if self.buffer.is_empty() && !self.await_request(thread).await? {
            return Ok(Next::Close);
        }
        let site = thread.site();
        thread.spare.lend(&mut self.head);
        thread.spare.lend(&mut self.out);
        self.entry = thread.entry(self.peer, Protocol::H1);
        let outcome = match self.accept(thread, &site).await {
            Ok(Accepted::Over) => return Ok(Next::Close),
            Ok(Accepted::Answer(own_answer)) => self.answer(own_answer).await,
            Ok(Accepted::Forward(mut asked)) => {
                self.served += 1;
                let most = site.policy.limits.requests;
                if most > 0 && self.served == most {
                    thread.ledger.count(Limit::Requests);
                    asked.keep_alive = false;
                }
                asked.keep_alive &= !thread.is_draining();
                match thread.begin(&site, &asked) {
                    Ok(running) => self.forward(&asked, &site, &running).await,
                    Err(_) => self.answer(OwnAnswer::too_many(&asked)).await,
                }
            }
            Err(error) => match self.refuse(&error, None).await {
                Ok(()) => Err(error),
                Err(gone) => Err(gone),
            },
        };
        thread.close(&mut self.entry, outcome.as_ref().err(), self.peer.address);
        self.give_back(&thread.spare);
        outcome
    }

    /// Waits for a request; `false` if none came, in which case the connection is closed without an
    /// answer.
    async fn await_request<S: Sessions>(
        &mut self,
        thread: &Thread<S>,
    ) -> Result<bool, ExchangeError> {
        let idle = thread.site().policy.limits.idle_time.0;
        let mut spans = [SHORT_TIMEOUT.min(idle), idle.saturating_sub(SHORT_TIMEOUT)].into_iter();
        loop {
            // The next request may already be on its way.
            let last = self.served > 0 && thread.is_draining();
            let span = if last {
                SHORT_TIMEOUT
            } else if let Some(span) = spans.next() {
                span
            } else {
                break;
            };
            let deadline = &self.deadlines.down;
            let reading = begin(&mut self.stream, &mut self.buffer, &thread.spare);
            let read = if self.served == 0 || last {
                // This client was admitted, so it may send one request even if gate is about to
                // end.
                deadline.within(Some(span), reading).await
            } else {
                deadline.at_rest(span, reading).await
            };
            match read {
                Ok(read) => {
                    self.early = self.stream.is_early();
                    return Ok(read.map_err(ExchangeError::Client)? > 0);
                }
                Err(Elapsed) if last => return Ok(false),
                Err(Elapsed) => self.stream.rest(),
            }
        }
        if !thread.is_draining() {
            thread.ledger.count(Limit::IdleTime);
        }
        Ok(false)
    }

    /// Releases buffers: between exchanges a connection keeps only the bytes of the next request.
    fn give_back(&mut self, spare: &BufferPool) {
        spare.collect(&mut self.head);
        spare.collect(&mut self.out);
        if self.buffer.is_empty() {
            spare.collect(&mut self.buffer);
        }
    }

    /// Reads a head and has it judged: at once if the session is known; otherwise the store is
    /// asked, and the head, which is still in the buffer, is judged again.
    async fn accept<S: Sessions>(
        &mut self,
        thread: &Thread<S>,
        site: &Site<S>,
    ) -> Result<Accepted, ExchangeError> {
        let (mut admitted, began) = (None, tokio::time::Instant::now());
        loop {
            match self.judge(site, admitted.as_ref())? {
                Some((Verdict::Forward(asked), length)) => {
                    self.buffer.drain(..length);
                    self.entry.set_admitted(&asked);
                    return Ok(Accepted::Forward(asked));
                }
                Some((Verdict::Answer(own_answer), length)) => {
                    self.buffer.drain(..length);
                    return Ok(Accepted::Answer(own_answer));
                }
                Some((Verdict::Ask(question), _)) => {
                    admitted = Some(site.policy.authenticator.authorize(&question).await);
                    self.entry.store_answered();
                }
                Some((Verdict::Login(asked), length)) => {
                    self.buffer.drain(..length);
                    let Ok(_running) = thread.begin_login(site, &asked) else {
                        return Ok(Accepted::Answer(OwnAnswer::too_many_logins(&asked)));
                    };
                    let form = self.form(&asked, site).await?;
                    let halves = SplitStream::new(&mut self.stream);
                    let mut rest = RequestBody::new(halves.reading(), &mut self.buffer, Body::None);
                    // The provider may be silent for long.
                    let own_answer = tokio::select! {
                        biased;
                        answer = site.policy.authenticator.log_in(*asked, form) => answer,
                        () = rest.gone() => return Err(ExchangeError::Gone),
                    };
                    return Ok(Accepted::Answer(own_answer));
                }
                // The decision needs more: the end of the handshake, or the body.
                Some((Verdict::Wait | Verdict::ReadBody(_), _)) => {
                    let span = Some(site.policy.limits.head_time.0);
                    let confirmed = poll_fn(|cx| self.stream.poll_confirmed(cx));
                    let confirmed = self.deadlines.down.within(span, confirmed).await;
                    confirmed
                        .map_err(|_| ExchangeError::Slow(Limit::HeadTime))?
                        .map_err(ExchangeError::Client)?;
                    self.early = false;
                    self.entry.early = Some(Early::Held);
                }
                None if !self.read_more(site, began).await? => return Ok(Accepted::Over),
                None => {}
            }
        }
    }

    /// Reads a small body, if the request needs one.
    async fn form<S: Sessions>(
        &mut self,
        asked: &LoginRequest,
        site: &Site<S>,
    ) -> Result<Vec<u8>, ExchangeError> {
        if !asked.takes_body() {
            return Ok(Vec::new());
        }
        let halves = SplitStream::new(&mut self.stream);
        let mut body = RequestBody::new(halves.reading(), &mut self.buffer, asked.body);
        let span = Some(site.policy.limits.head_time.0);
        let reading = whole(&mut body, MAX_FORM);
        let read = self.deadlines.down.within(span, reading).await;
        let form = read.map_err(|_| ExchangeError::Slow(Limit::HeadTime))??;
        self.entry.bytes_up = form.len() as u64;
        Ok(form)
    }

    /// Judges the head in the buffer; `None` if it is incomplete.
    fn judge<S: Sessions>(
        &mut self,
        site: &Site<S>,
        admitted: Option<&Admitted>,
    ) -> Result<Option<(Verdict, usize)>, BadRequestError> {
        let arrival = RequestContext {
            client: self.peer.address,
            secure: self.peer.secure,
            early: self.early,
            body: None,
            id: RequestId::NONE,
            trace: None,
            asks: self.peer.asks,
        };
        let (out, entry) = (&mut self.head, &mut self.entry);
        let read = h1::request(&self.buffer, &site.policy.limits, |request| {
            judge_arrival(&site.policy, request, arrival, admitted, out, entry)
        })?;
        read.map(|(verdict, length)| verdict.map(|verdict| (verdict, length)))
            .transpose()
    }

    /// The deadline is for the whole head, which `began` then, in however many pieces it comes. The
    /// head is parsed again only when its end may have arrived, so that many small pieces cost
    /// little. Empty lines before a head look like its end.
    async fn read_more<S: Sessions>(
        &mut self,
        site: &Site<S>,
        began: tokio::time::Instant,
    ) -> Result<bool, ExchangeError> {
        let limits = &site.policy.limits;
        let largest = usize::try_from(limits.head.0).unwrap_or(usize::MAX);
        let left = limits.head_time.0.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(ExchangeError::Slow(Limit::HeadTime));
        }
        let (stream, buffer, early) = (&mut self.stream, &mut self.buffer, &mut self.early);
        let reading = async {
            loop {
                let before = buffer.len();
                buffer.reserve(PIECE / 4);
                if stream.read_buf(buffer).await? == 0 {
                    return Ok(false);
                }
                *early |= stream.is_early();
                if h1::may_end(buffer, before) || buffer.len() > largest {
                    return Ok(true);
                }
            }
        };
        let read = self.deadlines.down.within(Some(left), reading).await;
        let more = read
            .map_err(|_| ExchangeError::Slow(Limit::HeadTime))?
            .map_err(ExchangeError::Client)?;
        self.entry.began = Instant::now();
        Ok(more)
    }

    async fn forward<S: Sessions>(
        &mut self,
        asked: &ForwardedRequest,
        site: &Site<S>,
        running: &Running<'_>,
    ) -> Result<Next, ExchangeError> {
        let halves = SplitStream::new(&mut self.stream);
        let mut body = RequestBody::new(halves.reading(), &mut self.buffer, asked.body);
        let mut answer = Answer::new(halves.writing(), &mut self.out, asked);
        let mut exchange = Exchange {
            site,
            asked,
            head: &mut self.head,
            body: &mut body,
            answer: &mut answer,
            deadlines: &self.deadlines,
            entry: &mut self.entry,
            buffer: &|bytes| running.buffer(bytes, &site.policy.limits),
            begun: false,
            interim: false,
        };
        let outcome = exchange.forward().await;
        let begun = exchange.begun;
        let (stays, ends) = (answer.stays(), answer.ends());
        match outcome {
            Ok(ended) if ended.uploaded && !ended.upgraded && stays => Ok(Next::Another),
            Ok(ended) => {
                if !ended.uploaded {
                    self.parting = CloseMode::Unheard;
                }
                Ok(Next::Close)
            }
            Err(error) => {
                if !begun {
                    self.refuse(&error, asked.grant.clone()).await?;
                } else if !ends {
                    self.parting = CloseMode::Abrupt;
                }
                Err(error)
            }
        }
    }

    async fn answer(&mut self, own_answer: OwnAnswer) -> Result<Next, ExchangeError> {
        self.entry.turn_away(own_answer.status, own_answer.reason);
        let stays = own_answer.stays;
        if !stays {
            self.parting = CloseMode::Unheard;
        }
        self.say(own_answer, stays).await?;
        Ok(if stays { Next::Another } else { Next::Close })
    }

    /// Sends the last answer on a connection that cannot be parsed any further.
    async fn refuse(
        &mut self,
        error: &ExchangeError,
        grant: Option<Rc<CorsHeaders>>,
    ) -> Result<(), ExchangeError> {
        let Some(status) = error.status() else {
            return Ok(());
        };
        let reason = error.reason().unwrap_or(Reason::Slow);
        self.entry.turn_away(status, reason);
        self.parting = CloseMode::Unheard;
        let own_answer = OwnAnswer {
            status,
            stays: false,
            reason,
            retry_after: error.retry_after(),
            grant,
            reply: None,
            login: None,
        };
        self.say(own_answer, false).await
    }

    /// Closes gradually. RFC 9112 §9.6: if a connection is closed while its client still sends, the
    /// last answer may be lost.
    async fn part(&mut self, at_once: bool) {
        if self.parting == CloseMode::Abrupt {
            return self.stream.abandon();
        }
        if self.parting == CloseMode::Quiet || at_once {
            let close_notify = poll_fn(|cx| self.stream.poll_close_notify(cx));
            let _ = self
                .deadlines
                .down
                .within(Some(SHORT_TIMEOUT), close_notify)
                .await;
            return;
        }
        let shutdown = self.stream.shutdown();
        let _ = self
            .deadlines
            .down
            .within(Some(SHORT_TIMEOUT), shutdown)
            .await;
        self.buffer = Vec::with_capacity(PIECE);
        let (stream, unheard) = (&mut self.stream, &mut self.buffer);
        let listening = async {
            while stream.read_buf(unheard).await.is_ok_and(|n| n > 0) {
                unheard.clear();
            }
        };
        let _ = self
            .deadlines
            .down
            .within(Some(LINGER_TIMEOUT), listening)
            .await;
    }

    async fn say(&mut self, own_answer: OwnAnswer, stays: bool) -> Result<(), ExchangeError> {
        let halves = SplitStream::new(&mut self.stream);
        let mut answer = Answer::own_answer(halves.writing(), &mut self.out, stays);
        own_answer.tell(&self.entry.caller.named(), &mut answer);
        let ended = self
            .deadlines
            .down
            .within(Some(SHORT_TIMEOUT), answer.end())
            .await;
        ended
            .map_err(|_| ExchangeError::Slow(Limit::BodyRate))?
            .map_err(ExchangeError::Client)
    }
}
