//! How an exchange gets its connection: a kept one, a new one, or the next one that another
//! exchange returns; and another one for the retry. `pools` assigns connections, and `group` opens
//! them.

use std::net::IpAddr;

use tokio::time::{Instant, timeout_at};

use super::link::{Fate, Link, ServerIndex};
use super::pool::{PooledConnection, after};
use super::pools::{PoolError, PoolGrant, PoolRequest, PoolSlot};
use super::wire::Wire;
use super::{LeaseNeeds, Upstream, UpstreamError};
use crate::config::UpstreamProtocol;

impl Upstream {
    /// Leases a kept connection, the one used last first; otherwise a new one; otherwise the next
    /// one that is returned.
    pub(crate) async fn lease(&self, need: LeaseNeeds) -> Result<Link, UpstreamError> {
        let want = PoolRequest::from(need);
        self.lease_by(self.pools.claim(want), want, need).await
    }

    /// Like [`Self::lease`], but returns `None` if it would have to wait.
    pub(crate) async fn lease_if_free(
        &self,
        need: LeaseNeeds,
    ) -> Result<Option<Link>, UpstreamError> {
        let want = PoolRequest::from(need);
        match self.pools.claim(want) {
            Err(PoolError::Busy | PoolError::Share) => Ok(None),
            claim => self.lease_by(claim, want, need).await.map(Some),
        }
    }

    async fn lease_by(
        &self,
        claim: Result<PoolGrant<Wire>, PoolError>,
        want: PoolRequest,
        need: LeaseNeeds,
    ) -> Result<Link, UpstreamError> {
        self.budget.borrow_mut().earn();
        self.pools.counts().asked.add(1);
        // The warm path: no waiting.
        if let Ok(PoolGrant {
            slot,
            kept: Some(kept),
        }) = claim
        {
            return Ok(Link::new(slot, kept, true, &self.buffers));
        }
        // Boxed, so that exchanges that do not need it are smaller.
        Box::pin(self.obtain(claim, want, need)).await
    }

    /// A connection that has not been used, to another server than `not` if possible.
    pub(super) async fn fresh(
        &self,
        not: Option<ServerIndex>,
        need: LeaseNeeds,
    ) -> Result<Link, UpstreamError> {
        let want = PoolRequest {
            fresh: true,
            not: not.map(|server| server.0),
            ..PoolRequest::from(need)
        };
        let claim = self.pools.claim(want);
        Box::pin(self.obtain(claim, want, need)).await
    }

    /// Leases a connection for the one retry of a request whose connection was `lost`.
    pub(crate) async fn replace(
        &self,
        lost: Link,
        fate: Fate,
        need: LeaseNeeds,
    ) -> Result<Link, UpstreamError> {
        let server = lost.server();
        // Must happen before another connection is requested; otherwise the slot would stay taken.
        lost.finish(fate);
        self.fresh(Some(server), need).await
    }

    /// Takes one retry from the budget that requests have earned; `false` if there is none.
    pub(crate) fn may_retry(&self) -> bool {
        let may = self.budget.borrow_mut().spend(Instant::now());
        let counts = self.pools.counts();
        let count = if may {
            &counts.retried
        } else {
            &counts.over_budget
        };
        count.add(1);
        may
    }

    /// Waiting and connecting share one deadline. If connecting fails, nothing was sent, so another
    /// server may be tried; a server that does not answer leaves half of the time for that.
    async fn obtain(
        &self,
        mut claim: Result<PoolGrant<Wire>, PoolError>,
        want: PoolRequest,
        need: LeaseNeeds,
    ) -> Result<Link, UpstreamError> {
        let deadline = need.until.unwrap_or_else(|| self.deadline());
        // TLS may always begin in the SYN: a duplicate ClientHello has no effect.
        let fast_open = self.group.config.fast_open && (need.repeatable || self.group.is_secure());
        let mut elsewhere = self.group.well.len() > 1;
        loop {
            let PoolGrant { slot, kept } = match claim {
                Ok(claim) => claim,
                Err(PoolError::Busy | PoolError::Share) => self.wait(want, deadline).await?,
                Err(PoolError::NoneWell) => {
                    let upstream = self.group.name.clone();
                    return Err(UpstreamError::NoneWell { upstream });
                }
            };
            if let Some(kept) = kept {
                return Ok(Link::new(slot, kept, true, &self.buffers));
            }
            let not = Some(slot.server());
            let opened = match self.protocol() {
                UpstreamProtocol::H1 => {
                    let now = Instant::now();
                    let left = deadline.saturating_duration_since(now);
                    let until = now + if elsewhere { left / 2 } else { left };
                    self.open(slot, fast_open, until).await
                }
                UpstreamProtocol::H2 => {
                    self.join(slot, need.large_head, want.client, deadline)
                        .await
                }
            };
            match opened {
                Ok(opened) => return Ok(self.link(opened)),
                Err(UpstreamError::Connect { .. } | UpstreamError::Silent { .. })
                    if elsewhere && Instant::now() < deadline && self.may_retry() =>
                {
                    elsewhere = false;
                    claim = self.pools.claim(PoolRequest { not, ..want });
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    async fn wait(
        &self,
        want: PoolRequest,
        deadline: Instant,
    ) -> Result<PoolGrant<Wire>, UpstreamError> {
        let upstream = self.group.name.clone();
        let counts = self.pools.counts();
        let Some(granted) = self.pools.wait(want) else {
            counts.refused.add(1);
            let waiting = self.group.config.waiting;
            return Err(UpstreamError::Full { upstream, waiting });
        };
        match timeout_at(deadline, granted).await {
            Ok(Ok(claim)) => Ok(claim),
            // This exchange gave way to another client.
            Ok(Err(_)) => {
                counts.refused.add(1);
                let waiting = self.group.config.waiting;
                Err(UpstreamError::Full { upstream, waiting })
            }
            Err(_) => {
                counts.refused.add(1);
                Err(self.busy())
            }
        }
    }

    pub(crate) fn busy(&self) -> UpstreamError {
        UpstreamError::Busy {
            upstream: self.group.name.clone(),
            within: self.group.config.connect.0,
        }
    }

    /// The error for a request that a server did not process and that cannot be sent again.
    pub(crate) fn refused(&self) -> UpstreamError {
        UpstreamError::Refused {
            upstream: self.group.name.clone(),
        }
    }

    pub(super) async fn open(
        &self,
        mut slot: PoolSlot<Wire>,
        fast_open: bool,
        deadline: Instant,
    ) -> Result<LeasedConnection, UpstreamError> {
        let opened = self.group.open(slot.server(), fast_open, deadline).await;
        let counts = self.pools.counts();
        let opened = opened.inspect_err(|trouble| {
            counts.unreached.add(1);
            counts.failed_at(slot.server(), Some(trouble));
            slot.failed();
        })?;
        slot.opened();
        counts.resumed.add(opened.resumed.into());
        Ok(LeasedConnection::new(slot, opened.wire, false))
    }

    /// A stream of a shared connection.
    async fn join(
        &self,
        slot: PoolSlot<Wire>,
        large_head: bool,
        client: Option<IpAddr>,
        deadline: Instant,
    ) -> Result<LeasedConnection, UpstreamError> {
        let server = slot.server();
        let joined = self.stream(server, large_head, client, deadline).await;
        let (stream, reused) = joined.inspect_err(|trouble| {
            let counts = self.pools.counts();
            if matches!(trouble, UpstreamError::Busy { .. }) {
                return counts.refused.add(1);
            }
            counts.failed_at(slot.server(), Some(trouble));
            slot.failed();
        })?;
        Ok(LeasedConnection::new(
            slot,
            Wire::Shared(Box::new(stream)),
            reused,
        ))
    }

    fn link(&self, opened: LeasedConnection) -> Link {
        Link::new(opened.slot, opened.kept, opened.reused, &self.buffers)
    }

    /// The time until which an exchange that asks now waits for a connection.
    pub(crate) fn deadline(&self) -> Instant {
        after(Instant::now(), self.group.config.connect.0)
    }
}

pub(super) struct LeasedConnection {
    pub(super) slot: PoolSlot<Wire>,
    pub(super) kept: PooledConnection<Wire>,
    /// Whether other exchanges had used the connection before.
    reused: bool,
}

impl LeasedConnection {
    fn new(slot: PoolSlot<Wire>, carrier: Wire, reused: bool) -> Self {
        let kept = PooledConnection {
            carrier,
            since: Instant::now(),
            carried: 0,
        };
        Self { slot, kept, reused }
    }
}
