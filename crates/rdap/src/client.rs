//! Performs lookups: finds the servers for a query and tries them one after another, follows
//! redirects, uses stored answers, and asks the registrar that the registry names.
//!
//! Equal concurrent queries become one request. A fresh stored answer costs no request, and a
//! server that complains is asked later. `clear` decides whether clear text may be used, `expected`
//! knows which answer a query must have, `fetch` gets one URL, `pages` fetches the further pages of
//! a search, `outage` waits for servers that are down, `follow` continues to the registrar,
//! `saved_state` stores tickets and limits for the next run, and `refresh` renews IANA's registries
//! in parallel to the lookups.

mod clear;
mod expected;
mod fetch;
mod follow;
mod outage;
mod outcome;
mod pages;
mod ranges;
mod refresh;
mod saved_state;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use roundtrip_model::Target;
use tokio::sync::Notify;

pub use outcome::{From, Outcome, Source, SourceError};
pub use saved_state::Reserve;

use crate::bootstrap::{Bootstrap, NoServerError, Registry};
use crate::credentials::Credentials;
use crate::query::{Key, Kind, Query, QueryError};
use crate::text::State;
use clear::EntrySchemes;
use expected::Asked;
use outage::Outages;
use ranges::Ranges;
use refresh::Used;
use roundtrip_fetch::flights::Flights;
use roundtrip_fetch::memory::answers::Policy;
use roundtrip_fetch::memory::{Memory, Stamp};
use roundtrip_fetch::pool::Pool;
use roundtrip_fetch::rate_limiter::RateLimiter;
use saved_state::SavedState;

/// The options of lookups.
#[derive(Debug)]
pub struct LookupOptions {
    /// The kind of the queries, if their form does not show it.
    pub kind: Option<Kind>,
    /// The server to ask instead of those in the registries: a base URL with its last slash.
    pub server: Option<Target>,
    /// Use clear text if https fails, unless the certificate was the reason.
    pub insecure_http: bool,
    /// Whether to ask the registrar as well.
    pub follow: bool,
    /// The largest number of pages fetched for one search.
    pub pages: u32,
    /// Whether an answer about an address serves all addresses in its range.
    pub by_range: bool,
    pub policy: Policy,
    /// Whether lookups without credentials may leave before the handshake is complete.
    pub early: bool,
    pub credentials: Option<Credentials>,
    /// The origin that receives a client certificate; its answers are for this client only.
    pub certified: Option<Target>,
    /// Whether to wait for a server that has answered before and is down now, as for lists.
    pub persistent: bool,
    /// Whether to wait briefly also for a server that has not answered yet.
    pub awaits_first_answer: bool,
    /// Whether a query that equals a query in flight waits for that query's answer.
    pub shares: bool,
    /// The base URL from which IANA's registries are renewed; `None` means never.
    pub registries: Option<Target>,
    pub user_agent: String,
}

/// The client: the state that all lookups share.
///
/// The caller builds it once ([`Self::new`]), turns text into queries ([`Self::read`]), and calls
/// [`Self::look_up`] for each, from any number of tasks on one thread: equal queries share a
/// request, and the pool's limits hold for all together. [`Self::lane`] names the server that a
/// query waits for, so that a caller can order its queries by server. At the end, it calls
/// [`Self::keep`], which stores tickets and limits for the next run, and then, when all results
/// have been reported, [`Self::settle`].
pub struct Client {
    options: LookupOptions,
    pool: Pool,
    bootstrap: RefCell<Bootstrap>,
    /// The registries that this run needed.
    used: RefCell<Vec<Used>>,
    newly_used: Notify,
    memory: Arc<Memory>,
    rate_limiter: RateLimiter,
    saved: SavedState,
    outages: Outages,
    ranges: RefCell<Ranges>,
    flights: Flights<String, Result<Box<Source>, SourceError>>,
}

/// The parts from which a client is made.
pub struct Parts {
    pub options: LookupOptions,
    pub pool: Pool,
    /// The TLS client of the pool, which receives stored sessions and provides new ones.
    pub tls: Arc<roundtrip_tls::Client>,
    pub tokens: roundtrip_http::Tokens,
    pub bootstrap: Bootstrap,
    pub memory: Arc<Memory>,
    pub rate_limiter: RateLimiter,
}

/// The reason why a query cannot be sent at all.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error(transparent)]
    NoServer(#[from] NoServerError),
    #[error("{0}: name the server with --server URL")]
    Serverless(String),
    #[error("{0}")]
    Url(#[from] roundtrip_model::TargetError),
    #[error(
        "{0}: a password in a URL is not sent; name the server with --server, and the password's file with --user-file"
    )]
    Password(String),
}

impl Client {
    pub fn new(parts: Parts) -> Self {
        Self {
            options: parts.options,
            pool: parts.pool,
            bootstrap: RefCell::new(parts.bootstrap),
            used: RefCell::default(),
            newly_used: Notify::new(),
            saved: SavedState::new(parts.memory.clone(), parts.tls, parts.tokens),
            memory: parts.memory,
            rate_limiter: parts.rate_limiter,
            outages: Outages::default(),
            ranges: RefCell::default(),
            flights: Flights::default(),
        }
    }

    pub fn read(&self, text: &str) -> Result<Query, QueryError> {
        Query::parse(text, self.options.kind)
    }

    /// Stores this run's knowledge for the next run.
    pub fn keep(&self) {
        self.saved.save(&self.pool, Self::now());
    }

    /// Called after [`Self::keep`], when all results have been reported: waits briefly for the
    /// tickets and tokens that servers send at the end of a handshake, if the next run has fewer
    /// than `reserve`. `limit` is the longest wait.
    pub async fn settle(&self, reserve: Reserve, limit: Duration) {
        let saved = &self.saved;
        saved.settle(&self.pool, Self::now(), reserve, limit).await;
    }

    /// Whether [`Self::settle`] would wait.
    pub fn is_awaiting_tickets(&self, reserve: Reserve) -> bool {
        self.saved.is_awaiting(&self.pool, Self::now(), reserve)
    }

    fn now() -> Stamp {
        Stamp::from_time(SystemTime::now())
    }

    /// Notes for the user, apart from the answers.
    pub fn notes(&self) -> Vec<String> {
        self.memory.notes()
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The first server to ask. Lookups in one lane wait for each other.
    pub fn lane(&self, query: &Query) -> Rc<str> {
        let targets = self.targets(query).ok();
        let first = targets.and_then(|targets| targets.into_iter().next());
        first.map_or_else(|| "".into(), |target| target.authority().into())
    }

    /// Asks one server after another, and then the registrar, until there is an answer or no server
    /// is left.
    pub async fn look_up(&self, query: &Query) -> Outcome {
        let _range = self.turn(query).await;
        if let Some(covered) = self.covered(query) {
            return covered;
        }
        let mut targets = self.targets(query);
        if let (Err(LookupError::NoServer(_)), Some(key)) = (&targets, query.key()) {
            // Boxed, because almost no lookup needs it.
            Box::pin(self.renew_for_want(Registry::from_key(&key))).await;
            targets = self.targets(query);
        }
        let targets = match targets {
            Ok(targets) => targets,
            Err(unasked) => return Outcome::unasked(query, &unasked),
        };
        let mut outcome = Outcome::from_query(query);
        let doors = EntrySchemes::from_targets(&targets, self.is_chosen(query));
        let asked = Asked::from_query(query);
        self.ask_in_turn(targets, &doors, asked, &mut outcome).await;
        Box::pin(self.turn_pages(asked, &mut outcome)).await;
        if self.options.follow {
            Box::pin(self.follow(&mut outcome)).await;
        }
        outcome.compare(query);
        self.remember_range(query, &outcome);
        outcome
    }

    /// Asks one server after another until one has an answer. The failures of the others are
    /// reported only if none has.
    async fn ask_in_turn(
        &self,
        targets: Vec<Target>,
        doors: &EntrySchemes,
        asked: Asked,
        outcome: &mut Outcome,
    ) {
        let mut refusals: Vec<(Target, Box<Source>)> = Vec::new();
        for target in targets {
            // Another URL of the same server would give the same answer.
            if refusals.iter().any(|(asked, _)| asked.host == target.host) {
                continue;
            }
            if !self.admits(&target, doors, outcome) {
                break;
            }
            self.tell_clear(&target, doors);
            match self.fetch(&target, asked).await {
                Ok(source) if matches!(source.state(), State::Found | State::NotRegistered) => {
                    outcome.registry = Some(source);
                    return;
                }
                Ok(source) => refusals.push((target, source)),
                Err(trouble) => outcome.troubles.push(trouble),
            }
        }
        outcome.registry = refusals.into_iter().next().map(|(_, source)| source);
    }

    /// Whether the user named the server.
    fn is_chosen(&self, query: &Query) -> bool {
        self.options.server.is_some() || query.url().is_some()
    }

    /// The URLs for the query, in the order in which to try them.
    fn targets(&self, query: &Query) -> Result<Vec<Target>, LookupError> {
        if query.kind() == Kind::Url
            && let Some(url) = query.url()
        {
            if url.userinfo().is_some() {
                return Err(LookupError::Password(url.redacted()));
            }
            return Ok(vec![url.clone()]);
        }
        let path = query.path();
        if let Some(base) = self.options.server.as_ref().or(query.url()) {
            return Ok(vec![base.join(&path)?]);
        }
        let key = query.key().ok_or_else(|| {
            LookupError::Serverless(format!("no registry names a server for '{query}'"))
        })?;
        self.recall(Registry::from_key(&key));
        let servers = self.bootstrap.borrow().servers(&key)?;
        let targets: Result<Vec<Target>, _> = servers.targets(&path).collect();
        Ok(targets?)
    }

    /// Waits for a query about a neighbouring address, if its answer could cover this one.
    async fn turn(&self, query: &Query) -> Option<ranges::RangeGuard> {
        let Some(Key::Ip(address, _)) = query.key().filter(|_| self.options.by_range) else {
            return None;
        };
        let turn = self.ranges.borrow_mut().turn(address);
        Some(turn.lock_owned().await)
    }

    /// An earlier answer that also covers this address.
    fn covered(&self, query: &Query) -> Option<Outcome> {
        let Some(Key::Ip(address, bits)) = query.key().filter(|_| self.options.by_range) else {
            return None;
        };
        let lane = self.lane(query);
        let source = self.ranges.borrow().find(&lane, address, bits)?;
        let mut outcome = Outcome::from_query(query);
        outcome.registry = Some(Box::new(source));
        Some(outcome)
    }

    fn remember_range(&self, query: &Query, outcome: &Outcome) {
        let found = outcome.registry.as_ref().filter(|_| self.options.by_range);
        let is_about_it = |s: &Source| s.state() == State::Found && s.other.is_none();
        if let Some(source) = found.filter(|source| is_about_it(source)) {
            let lane = self.lane(query);
            self.ranges.borrow_mut().keep(lane, source);
        }
    }
}
