//! One lookup from query to outcome: the servers that know, one after another; redirects;
//! remembered answers; and the registrar that the registry names.
//!
//! Equal queries at the same time become one request. A fresh remembered answer costs no request,
//! and a server that complains is asked later. `clear` decides whether clear text may be used,
//! `fetch` gets one URL, `pages` fetches the further pages of a search, `follow` goes on to the
//! registrar, `keeping` carries tickets and limits from run to run, and `refresh` renews IANA's
//! registries after the answer has been told.

mod clear;
mod fetch;
mod follow;
mod keeping;
mod outcome;
mod pages;
mod ranges;
mod refresh;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use roundtrip_model::Target;

pub use outcome::{From, Outcome, Source, Trouble};

use crate::bootstrap::{Bootstrap, NoServerError, Registry};
use crate::credentials::Credentials;
use crate::flights::Flights;
use crate::memory::answers::Policy;
use crate::memory::{Memory, Stamp};
use crate::pool::Pool;
use crate::query::{Key, Kind, Query, QueryError};
use crate::rate_limiter::RateLimiter;
use crate::text::State;
use clear::EntrySchemes;
use keeping::Keeping;
use ranges::Ranges;

/// How to look things up.
#[derive(Debug)]
pub struct LookupOptions {
    /// The kind of the queries, if their form does not tell it.
    pub kind: Option<Kind>,
    /// The server to ask, whatever the registries say: a base URL with its last slash.
    pub server: Option<Target>,
    /// Ask in clear text if https fails, unless its certificate was the reason.
    pub insecure_http: bool,
    /// Also ask the registrar.
    pub follow: bool,
    /// The largest number of pages fetched for one search.
    pub pages: u32,
    /// An answer about an address serves all addresses in its range.
    pub by_range: bool,
    pub policy: Policy,
    /// Lookups without credentials may leave before the handshake is complete.
    pub early: bool,
    pub credentials: Option<Credentials>,
    /// The origin that is shown a client certificate; its answers are for this client only.
    pub certified: Option<Target>,
    /// A query that equals one in flight waits for its answer.
    pub shares: bool,
    /// The base URL from which IANA's registries are renewed; `None` means never.
    pub registries: Option<Target>,
    pub user_agent: String,
}

/// The client: the state that all lookups share.
pub struct Client {
    options: LookupOptions,
    pool: Pool,
    bootstrap: RefCell<Bootstrap>,
    /// The registries that this run needed.
    used: RefCell<Vec<Registry>>,
    memory: Arc<Memory>,
    rate_limiter: RateLimiter,
    keeping: Keeping,
    ranges: RefCell<Ranges>,
    flights: Flights<String, Result<Source, Trouble>>,
}

/// What a client is made from.
pub struct Parts {
    pub options: LookupOptions,
    pub pool: Pool,
    /// The TLS client of the pool, into which sessions are put and from which new ones are taken.
    pub tls: Arc<roundtrip_tls::Client>,
    pub tokens: roundtrip_http::Tokens,
    pub bootstrap: Bootstrap,
    pub memory: Arc<Memory>,
    pub rate_limiter: RateLimiter,
}

/// Why a query cannot be asked at all.
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
            keeping: Keeping::new(parts.memory.clone(), parts.tls, parts.tokens),
            memory: parts.memory,
            rate_limiter: parts.rate_limiter,
            ranges: RefCell::default(),
            flights: Flights::default(),
        }
    }

    pub fn read(&self, text: &str) -> Result<Query, QueryError> {
        Query::parse(text, self.options.kind)
    }

    /// Stores what this run has learnt for the next run.
    pub fn keep(&self) {
        self.keeping.keep(&self.pool, Self::now());
    }

    /// Called after [`Self::keep`], when everything has been told: waits briefly for what servers
    /// send at the end of a handshake.
    pub async fn settle(&self) {
        self.keeping.settle(&self.pool, Self::now()).await;
    }

    fn now() -> Stamp {
        Stamp::of(SystemTime::now())
    }

    /// Notes for the user, apart from the answers.
    pub fn notes(&self) -> Vec<String> {
        self.memory.notes()
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The server that is asked first. Lookups in one lane wait for each other.
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
        let targets = match self.targets(query) {
            Ok(targets) => targets,
            Err(unasked) => return Outcome::unasked(query, &unasked),
        };
        let mut outcome = Outcome::of(query);
        let doors = EntrySchemes::of(&targets, self.is_chosen(query));
        self.ask_in_turn(targets, &doors, is_personal(query), &mut outcome)
            .await;
        self.turn_pages(&mut outcome).await;
        if self.options.follow {
            self.follow(&mut outcome).await;
        }
        self.remember_range(&outcome);
        outcome
    }

    /// Asks one server after another until one knows. What the others said is told only if none
    /// knows.
    async fn ask_in_turn(
        &self,
        targets: Vec<Target>,
        doors: &EntrySchemes,
        personal: bool,
        outcome: &mut Outcome,
    ) {
        let mut refusals: Vec<(Target, Source)> = Vec::new();
        for target in targets {
            // Another URL of the same server would give the same answer.
            if refusals.iter().any(|(asked, _)| asked.host == target.host) {
                continue;
            }
            if !self.admits(&target, doors, outcome) {
                break;
            }
            self.tell_clear(&target, doors);
            match self.fetch(&target, personal).await {
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
        self.recall(Registry::of(&key));
        let servers = self.bootstrap.borrow().servers(&key)?;
        let targets: Result<Vec<Target>, _> = servers.targets(&path).collect();
        Ok(targets?)
    }

    /// If an answer may serve a whole range, neighbouring addresses wait for it.
    async fn turn(&self, query: &Query) -> Option<ranges::Turn> {
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
        let source = self.ranges.borrow().find(address, bits)?;
        let mut outcome = Outcome::of(query);
        outcome.registry = Some(source);
        Some(outcome)
    }

    fn remember_range(&self, outcome: &Outcome) {
        let found = outcome.registry.as_ref().filter(|_| self.options.by_range);
        if let Some(source) = found.filter(|source| source.state() == State::Found) {
            self.ranges.borrow_mut().keep(source);
        }
    }
}

/// Whether the answer is a data set about a person or a role; some registries limit how many they
/// give out per day.
fn is_personal(query: &Query) -> bool {
    query.kind() == Kind::Entity
}
