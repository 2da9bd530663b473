//! What HTTP/2 and HTTP/3 have in common: each request comes on a stream of its own, beside others. Here one becomes an
//! exchange; reading and writing frames is the protocols' matter, and so is ending a stream whose answer is not whole.

mod buffers;
mod head;
mod measured;
mod reply;
mod tally;

use std::rc::Rc;
use std::time::Duration;

use super::signal::Signal;
use crate::accept::stream::Peer;
use crate::accept::thread::House;
use crate::forward::exchange::{Broken, Exchange, Sink, Source};
use crate::forward::site::Site;
use crate::judge::guard::Sessions;
use crate::judge::request::{Refusal, Version};
use crate::judge::{Admitted, Arrival, Asked, Grant, Plain, Verdict, jmap, judge};
use crate::record::RequestId;
use crate::record::{Early, Entry, Limit, Protocol, Reason};
use buffers::Kit;
pub(super) use head::Head;
use measured::Measured;
pub(super) use reply::reply;
pub(super) use tally::{Parted, Tally};

/// For our own answers, and for a client that was told to go.
pub(super) const SHORT: Duration = Duration::from_secs(2);

/// What the streams of one connection share.
pub(super) struct Hall<S> {
    pub(super) house: Rc<House<S>>,
    /// The handshake has ended: what comes is no replay.
    pub(super) confirmed: Rc<Signal>,
    version: Version,
    peer: Peer,
}

/// What a head became.
enum Accepted {
    Forward(Asked),
    Answer(Plain),
}

impl<S> Hall<S> {
    pub(super) fn new(house: &Rc<House<S>>, peer: Peer, version: Version) -> Self {
        Self {
            house: house.clone(),
            confirmed: Rc::default(),
            version,
            peer,
        }
    }

    /// Of an exchange that begins now.
    pub(super) fn entry(&self) -> Entry {
        self.house.entry(self.peer, Protocol::from(self.version))
    }

    pub(super) fn close(&self, entry: &mut Entry, error: Option<&Broken>) {
        self.house.close(entry, error, self.peer.address);
    }
}

impl<S: Sessions> Hall<S> {
    /// What comes of `work`, unless it takes longer than a head may.
    pub(super) async fn in_head_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Broken> {
        let span = self.house.site().policy.limits.head_time.0;
        let kit = Kit::take(&self.house);
        let done = kit.posts.down.within(Some(span), work).await;
        kit.give_back(&self.house);
        done.map_err(|_| {
            self.house.ledger.count(Limit::HeadTime);
            Broken::Slow(Limit::HeadTime)
        })
    }

    /// One exchange. After an error the answer may be whole, or not begun, or broken off: the sink knows.
    pub(super) async fn exchange(
        &self,
        head: Head,
        body: &mut impl Source,
        answer: &mut impl Sink,
        entry: &mut Entry,
    ) -> Result<(), Broken> {
        let site = self.house.site();
        let mut kit = Kit::take(&self.house);
        let outcome = match self.accept(&site, &head, body, &mut kit, entry).await {
            Ok(Accepted::Forward(asked)) => {
                // It may go on for days, and needs its head no more.
                drop(head);
                self.forward(&site, &asked, body, answer, &mut kit, entry)
                    .await
            }
            Ok(Accepted::Answer(plain)) => say(plain, answer, &kit, entry).await,
            Err(error) => refuse(error, answer, &kit, entry, None).await,
        };
        kit.give_back(&self.house);
        outcome
    }

    /// Has the head judged: at once, where the session is known; else the store is asked, and it is judged again.
    async fn accept(
        &self,
        site: &Site<S>,
        head: &Head,
        body: &mut impl Source,
        kit: &mut Kit,
        entry: &mut Entry,
    ) -> Result<Accepted, Broken> {
        let (mut admitted, mut looked) = (None, None);
        loop {
            let (admitted_as, seen) = (admitted.as_ref(), looked.as_deref());
            match self.judge(site, head, seen, admitted_as, &mut kit.head, entry)? {
                Verdict::Forward(asked) => {
                    entry.goes_on(&asked);
                    return Ok(Accepted::Forward(asked));
                }
                Verdict::Answer(plain) => return Ok(Accepted::Answer(plain)),
                Verdict::Ask(question) => {
                    admitted = Some(site.policy.door.authorize(&question).await);
                    entry.was_asked();
                }
                Verdict::Look => {
                    let body = self.in_head_time(whole(body)).await??;
                    entry.bytes_up = body.len() as u64;
                    looked = Some(body);
                }
                Verdict::Wait => {
                    self.confirmed.wait().await;
                    entry.early = Some(Early::Held);
                }
            }
        }
    }

    fn judge(
        &self,
        site: &Site<S>,
        head: &Head,
        body: Option<&[u8]>,
        admitted: Option<&Admitted>,
        out: &mut Vec<u8>,
        entry: &mut Entry,
    ) -> Result<Verdict, Refusal> {
        let arrival = Arrival {
            client: self.peer.address,
            secure: self.peer.secure,
            early: !self.confirmed.is_given(),
            body,
            id: RequestId::NONE,
        };
        head.read(self.version, &site.policy.limits, |request| {
            entry.is_of(request);
            let id = entry.caller.id;
            judge(
                &site.policy,
                request,
                Arrival { id, ..arrival },
                admitted,
                out,
            )
        })?
    }

    async fn forward(
        &self,
        site: &Site<S>,
        asked: &Asked,
        body: &mut impl Source,
        answer: &mut impl Sink,
        kit: &mut Kit,
        entry: &mut Entry,
    ) -> Result<(), Broken> {
        let Ok(_running) = self.house.begin(site, self.peer.address, asked) else {
            return say(Plain::too_many(asked), answer, kit, entry).await;
        };
        let mut body = Measured::new(body, asked.body);
        let mut exchange = Exchange {
            site,
            asked,
            head: &mut kit.head,
            body: &mut body,
            answer: &mut *answer,
            posts: &kit.posts,
            entry: &mut *entry,
            begun: false,
            interim: false,
        };
        match exchange.forward().await {
            Ok(_) => Ok(()),
            Err(error) if exchange.begun => Err(error),
            Err(error) => refuse(error, answer, kit, entry, asked.grant.clone()).await,
        }
    }
}

/// A body that was announced to be small.
async fn whole(body: &mut impl Source) -> Result<Vec<u8>, Broken> {
    let mut all = Vec::new();
    while body.next(&mut all).await? {
        if all.len() as u64 > jmap::LARGEST {
            return Err(Refusal::BodyTooLarge.into());
        }
    }
    Ok(all)
}

/// Nothing was answered yet.
async fn refuse(
    error: Broken,
    answer: &mut impl Sink,
    kit: &Kit,
    entry: &mut Entry,
    grant: Option<Rc<Grant>>,
) -> Result<(), Broken> {
    let Some(status) = error.status() else {
        return Err(error);
    };
    let plain = Plain {
        status,
        stays: true,
        reason: error.reason().unwrap_or(Reason::Slow),
        retry_after: error.retry_after(),
        grant,
    };
    say(plain, answer, kit, entry).await?;
    Err(error)
}

async fn say(
    plain: Plain,
    answer: &mut impl Sink,
    kit: &Kit,
    entry: &mut Entry,
) -> Result<(), Broken> {
    entry.turn_away(plain.status, plain.reason);
    plain.tell(&entry.caller.named(), answer);
    let ended = kit.posts.down.within(Some(SHORT), answer.end()).await;
    ended
        .map_err(|_| Broken::Slow(Limit::BodyRate))?
        .map_err(Broken::Client)
}

impl Broken {
    /// Is it the client's doing, be it by a reset?
    pub(super) fn is_the_clients(&self) -> bool {
        matches!(
            self,
            Self::Client(_) | Self::Gone | Self::Slow(_) | Self::Refused(_)
        )
    }
}
