//! Connections: one or a few for each origin, multiplexed and resumed. Requests are repeated only
//! if that is safe.
//!
//! A [`Pool`] takes requests from many tasks at any time. `site` manages an origin's connections
//! and the tasks that wait for one, `opening` opens connections, `carry` sends one request over
//! one, `resend` judges failures, and `timing` measures where the time went. Redirects, caches and
//! rate limits are left to the client.

mod carry;
mod context;
mod error;
mod knowledge;
mod lane;
mod names;
mod opening;
mod plan;
mod reply;
mod resend;
mod settings;
mod site;
#[cfg(test)]
mod tests;
mod timing;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roundtrip_http::Request;
use roundtrip_model::{Memory, Moment, Origin, Target};
use roundtrip_tls::TlsError;
use tokio::sync::Semaphore;

use crate::flights::Flights;

use carry::RequestAttempt;
pub use context::PoolStats;
use context::{PoolContext, count};
pub use error::{PoolError, PoolErrorKind};
pub use knowledge::{Alternative, OriginKnowledge, Reached};
use reply::Key;
pub use reply::{BODY_LIMIT, PoolRequest, Reply, Timing};
use resend::{ResendReason, Tries, Verdict};
pub use settings::{Deadlines, Family, Override, Settings};
use site::Site;

/// The largest number of origins in memory at once; those without connections are removed first.
const MAX_SITES: usize = 1024;

#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    context: Arc<PoolContext>,
    sites: Mutex<HashMap<Origin, Arc<Site>>>,
    flights: Flights<Key, Result<Reply, PoolError>>,
    /// A semaphore with one permit, if requests are made one after another.
    serial: Option<Semaphore>,
}

impl Pool {
    pub fn new(settings: Settings) -> Result<Self, TlsError> {
        let serial = settings.serial.then(|| Semaphore::new(1));
        let context = Arc::new(PoolContext::new(settings)?);
        Ok(Self(Arc::new(Inner {
            context,
            sites: Mutex::default(),
            flights: Flights::default(),
            serial,
        })))
    }

    /// Sends a request and reads the answer to its end. Can be called from many tasks at any time.
    pub async fn fetch(&self, ask: &PoolRequest) -> Result<Reply, PoolError> {
        let inner = &self.0;
        let asked = inner.context.now();
        if !ask.shares || !inner.context.settings.strategy.reuse {
            return Box::pin(inner.fetch_in_turn(ask, asked)).await;
        }
        // Boxed, so that a task that only waits for another's answer takes little memory.
        let fetch = || Box::pin(inner.fetch_in_turn(ask, asked));
        let joined = Box::pin(inner.flights.join(Key::from(ask), fetch));
        match joined.await {
            (outcome, false) => outcome,
            (outcome, true) => outcome.map(|reply| inner.coalesced(reply, asked)),
        }
    }

    /// Opens a connection to the target's origin before a request needs it, if there is none.
    pub async fn warm(&self, target: &Target) {
        self.0.site(target).warm().await;
    }

    /// The target's addresses, of the family in the settings.
    pub async fn addresses(&self, target: &Target) -> Result<Vec<IpAddr>, PoolError> {
        let context = &self.0.context;
        let origin = target.origin();
        let found = context.names.look_up(&origin, &context.settings).await;
        let found = found.map_err(|kind| PoolError {
            url: target.redacted(),
            resent: 0,
            kind: Arc::new(kind),
        })?;
        Ok(found.addresses)
    }

    /// Takes knowledge about an origin from an earlier run, unless the origin has already been
    /// asked.
    pub fn recall(&self, told: &OriginKnowledge) {
        let mut sites = self.0.sites();
        if !sites.contains_key(&told.origin) {
            let site = Site::new(told.origin.clone(), self.0.context.clone());
            site.recall(told);
            sites.insert(told.origin.clone(), site);
        }
    }

    /// The knowledge about each origin that answered.
    pub fn learnt(&self) -> Vec<OriginKnowledge> {
        let sites: Vec<Arc<Site>> = self.0.sites().values().cloned().collect();
        sites.iter().map(|site| site.learnt()).collect()
    }

    /// The origins from which HTTP/3 tickets are being fetched.
    pub fn sought(&self) -> Vec<Origin> {
        let sites: Vec<Arc<Site>> = self.0.sites().values().cloned().collect();
        let seeking = sites.iter().filter(|site| site.is_seeking());
        seeking.map(|site| site.origin.clone()).collect()
    }

    /// The origins with an open connection, and whether QUIC carries it. Reads what servers have
    /// sent on unused connections, such as tickets.
    pub fn open_connections(&self) -> Vec<(Origin, bool)> {
        let sites: Vec<Arc<Site>> = self.0.sites().values().cloned().collect();
        sites.iter().flat_map(|site| site.look_over()).collect()
    }

    pub fn tally(&self) -> PoolStats {
        self.0.context.counters.tally()
    }

    /// Closes all connections. Requests in flight fail.
    pub async fn close(&self) {
        let sites: Vec<Arc<Site>> = self.0.sites().values().cloned().collect();
        for site in sites {
            site.close().await;
        }
    }
}

impl Inner {
    async fn fetch_in_turn(&self, ask: &PoolRequest, asked: Moment) -> Result<Reply, PoolError> {
        let _range = match &self.serial {
            // The semaphore is never closed.
            Some(places) => places.acquire().await.ok(),
            None => None,
        };
        // If requests are serial, time counts from the start of this request's turn.
        let asked = self.serial.as_ref().map_or(asked, |_| self.context.now());
        let mut tries = Tries::for_method(ask.method);
        let outcome = self.carry(ask, asked, &mut tries).await;
        outcome.map_err(|kind| PoolError {
            url: ask.target.redacted(),
            resent: tries.count(),
            kind,
        })
    }

    async fn carry(
        &self,
        ask: &PoolRequest,
        asked: Moment,
        tries: &mut Tries,
    ) -> Result<Reply, Arc<PoolErrorKind>> {
        let (request, site) = (request(ask), self.site(&ask.target));
        let early = self.may_be_early(ask);
        let attempt = RequestAttempt {
            context: &self.context,
            site: &site,
            request: &request,
            limit: ask.limit,
            asked,
        };
        let mut began = asked;
        loop {
            let mut lease = Box::pin(site.lease(early && !tries.is_careful())).await?;
            let lane = lease.lane.clone();
            let outcome = Box::pin(attempt.run(&mut lease, began)).await;
            began = self.context.now();
            lease.leave();
            if lane.early_data {
                site.review();
            }
            let failed = match outcome {
                Ok(reply) if self.was_too_early(&reply, tries) => continue,
                Ok(mut reply) => {
                    site.seek_ticket(&lane);
                    tries.sum_up(&mut reply.timing);
                    return Ok(reply);
                }
                Err(failed) => failed,
            };
            if failed.ends_connection() {
                site.retire(&lane);
            }
            match tries.judge(failed, &lane) {
                Verdict::Again(ResendReason::TurnedAway) => {
                    count(&self.context.counters.turned_away);
                }
                Verdict::Again(ResendReason::Ended) => count(&self.context.counters.resent),
                Verdict::Give(fault) => return Err(Arc::new(fault)),
            }
        }
    }

    /// Whether the request may leave as early data. An attacker who replays a lookup learns only
    /// what anyone can learn, unless it carries credentials. RFC 8470 §4.
    fn may_be_early(&self, ask: &PoolRequest) -> bool {
        let settings = &self.context.settings;
        let secret = |(name, _): &(String, String)| {
            let secrets = ["authorization", "cookie", "proxy-authorization"];
            secrets.iter().any(|s| name.eq_ignore_ascii_case(s))
        };
        settings.strategy.memory == Memory::EarlyData
            && ask.early
            && settings.identity.is_none()
            && !ask.headers.iter().any(secret)
    }

    /// Whether the server answered 425 to early data. RFC 8470 §5.2.
    fn was_too_early(&self, reply: &Reply, tries: &mut Tries) -> bool {
        let timing = &reply.timing;
        let again = reply.status == 425 && timing.early && tries.too_early(timing);
        if again {
            count(&self.context.counters.too_early);
        }
        again
    }

    /// Returns an answer that another request fetched.
    fn coalesced(&self, mut reply: Reply, asked: Moment) -> Reply {
        count(&self.context.counters.coalesced);
        let waited = self.context.now().since(asked);
        let timing = &mut reply.timing;
        timing.coalesced = true;
        timing.total = waited.min(timing.total);
        timing.first_byte = timing.first_byte.min(timing.total);
        reply
    }

    fn site(&self, target: &Target) -> Arc<Site> {
        let origin = target.origin();
        let mut sites = self.sites();
        if let Some(site) = sites.get(&origin) {
            return site.clone();
        }
        if sites.len() >= MAX_SITES {
            sites.retain(|_, site| !site.is_idle());
        }
        let site = Site::new(origin.clone(), self.context.clone());
        sites.insert(origin, site.clone());
        site
    }

    fn sites(&self) -> MutexGuard<'_, HashMap<Origin, Arc<Site>>> {
        self.sites.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn request(ask: &PoolRequest) -> Request {
    let mut headers = ask.headers.clone();
    let chosen = |(name, _): &(String, String)| name.eq_ignore_ascii_case("accept-encoding");
    if !headers.iter().any(chosen) {
        headers.push(("Accept-Encoding".into(), "gzip, br".into()));
    }
    Request {
        method: ask.method.into(),
        target: ask.target.clone(),
        headers,
        body: ask.body.clone(),
        absolute_form: false,
    }
}
