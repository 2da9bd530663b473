//! The common part of HTTP/2 and HTTP/3: each request comes on its own stream, and becomes an
//! exchange here. Each protocol reads and writes its own frames, and ends a stream whose answer is
//! incomplete.

mod buffers;
mod head;
mod measured;
mod reset_count;

use std::rc::Rc;
use std::time::Duration;

use super::signal::Signal;
use crate::accept::stream::Peer;
use crate::accept::thread::Thread;
use crate::forward::exchange::{Exchange, ExchangeError, Sink, Source};
use crate::forward::site::Site;
use crate::judge::guard::Sessions;
use crate::judge::request::{BadRequestError, Version};
use crate::judge::{
    Admitted, CorsHeaders, ForwardedRequest, MAX_FORM, OwnAnswer, RequestContext, Verdict, jmap,
    judge_arrival,
};
use crate::record::RequestId;
use crate::record::{Early, Entry, Limit, Protocol, Reason};
use buffers::Buffers;
pub(super) use head::Head;
use measured::Measured;
pub(super) use reset_count::{ResetCount, StreamEnd};

/// The time limit for gate's own answers, and for a client that was asked to leave.
pub(super) const SHORT_TIMEOUT: Duration = Duration::from_secs(2);

/// The state that the streams of one connection share.
pub(super) struct ConnectionState<S> {
    pub(super) thread: Rc<Thread<S>>,
    /// The handshake is complete, so requests cannot be replays.
    pub(super) confirmed: Rc<Signal>,
    version: Version,
    peer: Peer,
}

/// The outcome of reading a head.
enum Accepted {
    Forward(ForwardedRequest),
    Answer(OwnAnswer),
}

impl<S> ConnectionState<S> {
    pub(super) fn new(thread: &Rc<Thread<S>>, peer: Peer, version: Version) -> Self {
        Self {
            thread: thread.clone(),
            confirmed: Rc::default(),
            version,
            peer,
        }
    }

    /// The entry of a new exchange.
    pub(super) fn entry(&self) -> Entry {
        self.thread.entry(self.peer, Protocol::from(self.version))
    }

    pub(super) fn close(&self, entry: &mut Entry, error: Option<&ExchangeError>) {
        self.thread.close(entry, error, self.peer.address);
    }
}

impl<S: Sessions> ConnectionState<S> {
    /// Runs `work`, unless it takes longer than a head may.
    pub(super) async fn in_head_time<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, ExchangeError> {
        let span = self.thread.site().policy.limits.head_time.0;
        // Nothing else that an exchange needs: many streams may wait here.
        let deadlines = self.thread.deadlines.for_exchange();
        let done = deadlines.down.within(Some(span), work).await;
        self.thread.deadlines.give_back(deadlines);
        done.map_err(|_| {
            self.thread.ledger.count(Limit::HeadTime);
            ExchangeError::Slow(Limit::HeadTime)
        })
    }

    /// Runs one exchange. After an error the answer may be complete, not begun, or incomplete: the
    /// sink knows.
    pub(super) async fn exchange(
        &self,
        head: Head,
        body: &mut impl Source,
        answer: &mut impl Sink,
        entry: &mut Entry,
    ) -> Result<(), ExchangeError> {
        let site = self.thread.site();
        let mut buffers = Buffers::take(&self.thread);
        let outcome = match self.accept(&site, &head, body, &mut buffers, entry).await {
            Ok(Accepted::Forward(asked)) => {
                // The exchange may last for days and no longer needs the head.
                drop(head);
                self.forward(&site, &asked, body, answer, &mut buffers, entry)
                    .await
            }
            Ok(Accepted::Answer(own_answer)) => say(own_answer, answer, &buffers, entry).await,
            Err(error) => refuse(error, answer, &buffers, entry, None).await,
        };
        buffers.give_back(&self.thread);
        outcome
    }

    /// Has the head judged: at once if the session is known; otherwise the store is asked, and the
    /// head is judged again.
    async fn accept(
        &self,
        site: &Site<S>,
        head: &Head,
        body: &mut impl Source,
        buffers: &mut Buffers,
        entry: &mut Entry,
    ) -> Result<Accepted, ExchangeError> {
        let (mut admitted, mut looked) = (None, None);
        loop {
            let seen = looked.as_ref().map(|(body, _): &(Vec<u8>, _)| &**body);
            match self.judge(
                site,
                head,
                seen,
                admitted.as_ref(),
                &mut buffers.head,
                entry,
            )? {
                Verdict::Forward(asked) => {
                    entry.set_admitted(&asked);
                    return Ok(Accepted::Forward(asked));
                }
                Verdict::Login(asked) => {
                    let Ok(_running) = self.thread.begin_login(site, &asked) else {
                        return Ok(Accepted::Answer(OwnAnswer::too_many_logins(&asked)));
                    };
                    let form = if asked.takes_body() {
                        self.in_head_time(whole(body, MAX_FORM)).await??
                    } else {
                        Vec::new()
                    };
                    entry.bytes_up = form.len() as u64;
                    let own_answer = site.policy.authenticator.log_in(*asked, form).await;
                    return Ok(Accepted::Answer(own_answer));
                }
                Verdict::Answer(own_answer) => return Ok(Accepted::Answer(own_answer)),
                Verdict::Ask(question) => {
                    admitted = Some(site.policy.authenticator.authorize(&question).await);
                    entry.store_answered();
                }
                Verdict::ReadBody(client) => {
                    match self.thread.begin_reading(site, client, jmap::MAX_BODY) {
                        Ok(running) => {
                            let body = self.in_head_time(whole(body, jmap::MAX_BODY)).await??;
                            entry.bytes_up = body.len() as u64;
                            looked = Some((body, running));
                        }
                        Err(limit) if self.confirmed.is_given() => {
                            return Err(ExchangeError::NoRoom(limit));
                        }
                        // After the handshake, the body need not be read.
                        Err(_) => self.await_handshake(entry).await?,
                    }
                }
                Verdict::Wait => self.await_handshake(entry).await?,
            }
        }
    }

    async fn await_handshake(&self, entry: &mut Entry) -> Result<(), ExchangeError> {
        self.in_head_time(self.confirmed.wait()).await?;
        entry.early = Some(Early::Held);
        Ok(())
    }

    fn judge(
        &self,
        site: &Site<S>,
        head: &Head,
        body: Option<&[u8]>,
        admitted: Option<&Admitted>,
        out: &mut Vec<u8>,
        entry: &mut Entry,
    ) -> Result<Verdict, BadRequestError> {
        let arrival = RequestContext {
            client: self.peer.address,
            secure: self.peer.secure,
            early: !self.confirmed.is_given(),
            body,
            id: RequestId::NONE,
            trace: None,
            asks: self.peer.asks,
        };
        head.read(self.version, &site.policy.limits, |request| {
            judge_arrival(&site.policy, request, arrival, admitted, out, entry)
        })?
    }

    async fn forward(
        &self,
        site: &Site<S>,
        asked: &ForwardedRequest,
        body: &mut impl Source,
        answer: &mut impl Sink,
        buffers: &mut Buffers,
        entry: &mut Entry,
    ) -> Result<(), ExchangeError> {
        let Ok(running) = self.thread.begin(site, asked) else {
            return say(OwnAnswer::too_many(asked), answer, buffers, entry).await;
        };
        let mut body = Measured::new(body, asked.body);
        let mut exchange = Exchange {
            site,
            asked,
            head: &mut buffers.head,
            body: &mut body,
            answer: &mut *answer,
            deadlines: &buffers.deadlines,
            entry: &mut *entry,
            buffer: &|bytes| running.buffer(bytes, &site.policy.limits),
            begun: false,
            interim: false,
        };
        match exchange.forward().await {
            Ok(_) => Ok(()),
            Err(error) if exchange.begun => Err(error),
            Err(error) => refuse(error, answer, buffers, entry, asked.grant.clone()).await,
        }
    }
}

/// Reads a body that must be small.
pub(super) async fn whole(body: &mut impl Source, limit: u64) -> Result<Vec<u8>, ExchangeError> {
    let mut all = Vec::new();
    while body.next(&mut all).await? {
        if all.len() as u64 > limit {
            return Err(BadRequestError::BodyTooLarge.into());
        }
    }
    Ok(all)
}

/// Answers a request that has no answer yet.
async fn refuse(
    error: ExchangeError,
    answer: &mut impl Sink,
    buffers: &Buffers,
    entry: &mut Entry,
    grant: Option<Rc<CorsHeaders>>,
) -> Result<(), ExchangeError> {
    let Some(status) = error.status() else {
        return Err(error);
    };
    let own_answer = OwnAnswer {
        status,
        stays: true,
        reason: error.reason().unwrap_or(Reason::Slow),
        retry_after: error.retry_after(),
        grant,
        reply: None,
        login: None,
    };
    say(own_answer, answer, buffers, entry).await?;
    Err(error)
}

async fn say(
    own_answer: OwnAnswer,
    answer: &mut impl Sink,
    buffers: &Buffers,
    entry: &mut Entry,
) -> Result<(), ExchangeError> {
    entry.turn_away(own_answer.status, own_answer.reason);
    own_answer.tell(&entry.caller.named(), answer);
    let ended = buffers
        .deadlines
        .down
        .within(Some(SHORT_TIMEOUT), answer.end())
        .await;
    ended
        .map_err(|_| ExchangeError::Slow(Limit::BodyRate))?
        .map_err(ExchangeError::Client)
}

impl ExchangeError {
    /// Whether the client caused the error, perhaps by a reset.
    pub(super) fn is_the_clients(&self) -> bool {
        matches!(
            self,
            Self::Client(_) | Self::Gone | Self::Slow(_) | Self::Refused(_)
        )
    }
}
