//! Where requests go: the connections of one thread to the servers of one `[upstream.NAME]`.
//!
//! `group` is what all threads know of the servers; `stock` says who gets which connection, and who waits; `link` is a
//! connection in one exchange's hands. What is said over it is up to `exchange`.

mod address;
mod budget;
mod counts;
mod error;
mod group;
mod h2;
mod link;
mod outlier_ejection;
mod pool;
mod pools;
mod server_view;
mod tell;
mod tend;
#[cfg(test)]
mod tests;
mod wire;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::config::{Protocol, Span};
use budget::Budget;
pub(crate) use counts::Counts;
pub(crate) use error::Trouble;
pub(crate) use group::Group;
use link::Buffers;
pub(crate) use link::{Fate, Link, Server, UploadPlace};
use outlier_ejection::Ejecting;
use pool::{Bounds, Kept, after};
use pools::{Claim, Refused, Rules, Slot, Stock, Want};
pub(crate) use server_view::{ServerState, ServerView};
use tell::Told;
pub(crate) use tell::tell;
pub(crate) use wire::Wire;

/// One upstream, as one thread has it.
pub(crate) struct Upstream {
    group: Arc<Group>,
    stock: Rc<Stock<Wire>>,
    budget: RefCell<Budget>,
    buffers: Buffers,
    /// To each server, where HTTP/2 is spoken.
    shared: Vec<h2::Place>,
    told: Told,
    /// Bytes of requests that wait for a connection.
    ahead: Cell<usize>,
}

/// What an exchange needs of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Need {
    /// The request may reach the server twice: only then may it leave in the SYN.
    pub(crate) repeatable: bool,
    /// Its body is still on its way.
    pub(crate) upload: bool,
}

impl From<Need> for Want {
    fn from(need: Need) -> Self {
        Self {
            upload: need.upload,
            ..Self::default()
        }
    }
}

impl Upstream {
    pub(crate) fn new(group: &Arc<Group>) -> Rc<Self> {
        let config = &group.config;
        let is_h2 = config.protocol == Protocol::H2;
        let rules = Rules {
            bounds: Bounds {
                connections: config.connections.max(1),
                // A stream is over with its exchange.
                idle: if is_h2 { 0 } else { config.idle },
                idle_time: config.idle_time.0,
                age: config.age.0,
            },
            balance: config.balance,
            ejecting: Ejecting {
                after: config.eject_after,
                time: config.eject_for.0,
            },
            uploads: match config.uploads {
                0 => config.connections.div_ceil(2).max(1),
                uploads => uploads,
            },
            waiting: config.waiting,
        };
        Rc::new(Self {
            stock: Stock::new(rules, group.well.clone(), group.new_tally()),
            budget: RefCell::new(Budget::new(config.retry_budget, Instant::now())),
            buffers: Buffers::default(),
            shared: (0..group.well.len())
                .map(|_| h2::Place::default())
                .collect(),
            told: Told::default(),
            ahead: Cell::new(0),
            group: group.clone(),
        })
    }

    /// A kept connection that lives, the one used last first; else a new one; else the next that others give back.
    pub(crate) async fn lease(&self, need: Need) -> Result<Link, Trouble> {
        let want = Want::from(need);
        self.lease_by(self.stock.claim(want), want, need).await
    }

    /// `None` where it would have to be waited for.
    pub(crate) async fn lease_if_free(&self, need: Need) -> Result<Option<Link>, Trouble> {
        let want = Want::from(need);
        match self.stock.claim(want) {
            Err(Refused::Busy) => Ok(None),
            claim => self.lease_by(claim, want, need).await.map(Some),
        }
    }

    async fn lease_by(
        &self,
        claim: Result<Claim<Wire>, Refused>,
        want: Want,
        need: Need,
    ) -> Result<Link, Trouble> {
        self.budget.borrow_mut().earn();
        self.stock.tally().asked.add(1);
        // The warm path: nothing is waited for.
        if let Ok(Claim {
            slot,
            kept: Some(kept),
        }) = claim
        {
            return Ok(Link::new(slot, kept, true, &self.buffers));
        }
        // Apart, for an exchange that needs nothing of this should not be as large as one that does.
        Box::pin(self.obtain(claim, want, need.repeatable)).await
    }

    /// For the one retry: a connection that nobody has used, to another server than `not` where there is one. Whoever holds
    /// the failed link has to finish it before, or its place stays taken.
    pub(crate) async fn fresh(&self, not: Option<Server>, need: Need) -> Result<Link, Trouble> {
        let want = Want {
            fresh: true,
            not: not.map(|server| server.0),
            ..Want::from(need)
        };
        let claim = self.stock.claim(want);
        Box::pin(self.obtain(claim, want, need.repeatable)).await
    }

    /// Takes one retry from the budget that requests have earned; `false` where there is none.
    pub(crate) fn may_retry(&self) -> bool {
        let may = self.budget.borrow_mut().spend(Instant::now());
        let tally = self.stock.tally();
        let count = if may {
            &tally.retried
        } else {
            &tally.over_budget
        };
        count.add(1);
        may
    }

    /// Opens spare connections and closes old ones: one task of the thread, which ends when the upstream is dropped.
    pub(crate) fn tend(self: &Rc<Self>) -> impl Future<Output = ()> + use<> {
        tend::tend(Rc::downgrade(self))
    }

    pub(crate) fn group(&self) -> &Arc<Group> {
        &self.group
    }

    pub(crate) fn index(&self) -> u16 {
        self.group.index
    }

    pub(crate) fn protocol(&self) -> Protocol {
        self.group.config.protocol
    }

    /// From the request's last byte to the answer's first. As all of these, where there is a bound.
    pub(crate) fn first_byte(&self) -> Option<Duration> {
        bound(self.group.config.first_byte)
    }

    /// Between two pieces of an answer.
    pub(crate) fn silence(&self) -> Option<Duration> {
        bound(self.group.config.silence)
    }

    /// Of all interim answers before the final one.
    pub(crate) fn interim(&self) -> Option<Duration> {
        bound(self.group.config.interim)
    }

    /// Of a whole exchange.
    pub(crate) fn total(&self) -> Option<Duration> {
        bound(self.group.config.total)
    }

    /// Bytes of requests that wait for a connection, and are held for them.
    pub(crate) fn ahead(&self) -> &Cell<usize> {
        &self.ahead
    }

    /// Waiting and connecting share one deadline. Who cannot be connected to has got nothing: another server may do.
    async fn obtain(
        &self,
        mut claim: Result<Claim<Wire>, Refused>,
        want: Want,
        repeatable: bool,
    ) -> Result<Link, Trouble> {
        let deadline = self.deadline();
        // TLS may always begin in the SYN: a hello that comes twice does nothing twice.
        let fast_open = self.group.config.fast_open && (repeatable || self.group.is_secure());
        let mut elsewhere = self.group.well.len() > 1;
        loop {
            let Claim { slot, kept } = match claim {
                Ok(claim) => claim,
                Err(Refused::Busy) => self.wait(want, deadline).await?,
                Err(Refused::NoneWell) => {
                    let upstream = self.group.name.clone();
                    return Err(Trouble::NoneWell { upstream });
                }
            };
            if let Some(kept) = kept {
                return Ok(Link::new(slot, kept, true, &self.buffers));
            }
            let not = Some(slot.server());
            let opened = match self.protocol() {
                Protocol::H1 => self.open(slot, fast_open, deadline).await,
                Protocol::H2 => self.join(slot, deadline).await,
            };
            match opened {
                Ok(opened) => return Ok(self.link(opened)),
                Err(Trouble::Connect { .. }) if elsewhere && self.may_retry() => {
                    elsewhere = false;
                    claim = self.stock.claim(Want { not, ..want });
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    async fn wait(&self, want: Want, deadline: Instant) -> Result<Claim<Wire>, Trouble> {
        let upstream = self.group.name.clone();
        let within = self.group.config.connect.0;
        let tally = self.stock.tally();
        let Some(granted) = self.stock.wait(want) else {
            tally.refused.add(1);
            let waiting = self.group.config.waiting;
            return Err(Trouble::Full { upstream, waiting });
        };
        match timeout_at(deadline, granted).await {
            Ok(Ok(claim)) => Ok(claim),
            Ok(Err(_)) | Err(_) => {
                tally.refused.add(1);
                Err(Trouble::Busy { upstream, within })
            }
        }
    }

    async fn open(
        &self,
        mut slot: Slot<Wire>,
        fast_open: bool,
        deadline: Instant,
    ) -> Result<Opened, Trouble> {
        let opened = self.group.open(slot.server(), fast_open, deadline).await;
        let tally = self.stock.tally();
        let opened = opened.inspect_err(|trouble| {
            tally.unreached.add(1);
            tally.failed_at(slot.server(), Some(trouble));
            slot.failed();
        })?;
        slot.opened();
        tally.resumed.add(opened.resumed.into());
        Ok(Opened::new(slot, opened.wire, false))
    }

    /// A stream of the connection that all share.
    async fn join(&self, slot: Slot<Wire>, deadline: Instant) -> Result<Opened, Trouble> {
        let joined = self.stream(slot.server(), deadline).await;
        let (stream, reused) = joined.inspect_err(|trouble| {
            let tally = self.stock.tally();
            tally.failed_at(slot.server(), Some(trouble));
            slot.failed();
        })?;
        Ok(Opened::new(slot, Wire::Shared(Box::new(stream)), reused))
    }

    fn link(&self, opened: Opened) -> Link {
        Link::new(opened.slot, opened.kept, opened.reused, &self.buffers)
    }

    fn deadline(&self) -> Instant {
        after(Instant::now(), self.group.config.connect.0)
    }
}

struct Opened {
    slot: Slot<Wire>,
    kept: Kept<Wire>,
    /// Others had used its connection before.
    reused: bool,
}

impl Opened {
    fn new(slot: Slot<Wire>, carrier: Wire, reused: bool) -> Self {
        let kept = Kept {
            carrier,
            since: Instant::now(),
            carried: 0,
        };
        Self { slot, kept, reused }
    }
}

fn bound(span: Span) -> Option<Duration> {
    Some(span.0).filter(|time| !time.is_zero())
}
