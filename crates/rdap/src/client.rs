//! One lookup from query to outcome: the servers that know, in turn; redirects; what is remembered; the registrar that the
//! registry names.
//!
//! What is asked twice is asked once, what is remembered and holds is not asked at all, and a server that complains is
//! asked later. `clear` judges whether TLS may be left, `fetch` brings one URL, `pages` turns those of a search, `follow` goes on
//! to the registrar, `keeping` carries tickets and limits from run to run, `refresh` renews IANA's registries after the
//! answer was told.

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

use crate::bootstrap::{Bootstrap, NoServer, Registry};
use crate::credentials::Credentials;
use crate::flights::Flights;
use crate::manners::Manners;
use crate::memory::answers::Policy;
use crate::memory::{Memory, Stamp};
use crate::pool::Pool;
use crate::query::{Key, Kind, Query, QueryError};
use crate::text::State;
use clear::Doors;
use keeping::Keeping;
use ranges::Ranges;

/// What a lookup is to be.
#[derive(Debug)]
pub struct Wishes {
    /// What queries are, where their form does not tell.
    pub kind: Option<Kind>,
    /// Whom to ask, whatever the registries say: a base URL with its last slash.
    pub server: Option<Target>,
    /// Ask in clear text where https failed, but for its certificate.
    pub insecure_http: bool,
    /// Go on to the registrar.
    pub follow: bool,
    /// Of a search, at most.
    pub pages: u32,
    /// An answer about an address serves all addresses in its range.
    pub by_range: bool,
    pub policy: Policy,
    /// Lookups without credentials may leave before the handshake is over.
    pub early: bool,
    pub credentials: Option<Credentials>,
    /// The origin that is shown a certificate of ours: what it answers is for us alone.
    pub certified: Option<Target>,
    /// What is being asked for is not asked for again.
    pub shares: bool,
    /// Where IANA's registries are renewed from, a base URL; none for never.
    pub registries: Option<Target>,
    pub user_agent: String,
}

/// The client: everything that lookups share.
pub struct Client {
    wishes: Wishes,
    pool: Pool,
    bootstrap: RefCell<Bootstrap>,
    /// Registries that this run needed.
    used: RefCell<Vec<Registry>>,
    memory: Arc<Memory>,
    manners: Manners,
    keeping: Keeping,
    ranges: RefCell<Ranges>,
    flights: Flights<String, Result<Source, Trouble>>,
}

/// What lookups are made with.
pub struct Parts {
    pub wishes: Wishes,
    pub pool: Pool,
    /// The pool's own, where sessions are taken from and put back.
    pub tls: Arc<roundtrip_tls::Client>,
    pub tokens: roundtrip_http::Tokens,
    pub bootstrap: Bootstrap,
    pub memory: Arc<Memory>,
    pub manners: Manners,
}

/// Why a query cannot be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum Unasked {
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error(transparent)]
    NoServer(#[from] NoServer),
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
            wishes: parts.wishes,
            pool: parts.pool,
            bootstrap: RefCell::new(parts.bootstrap),
            used: RefCell::default(),
            keeping: Keeping::new(parts.memory.clone(), parts.tls, parts.tokens),
            memory: parts.memory,
            manners: parts.manners,
            ranges: RefCell::default(),
            flights: Flights::default(),
        }
    }

    pub fn read(&self, text: &str) -> Result<Query, QueryError> {
        Query::parse(text, self.wishes.kind)
    }

    /// What this run learnt is kept for the next.
    pub fn keep(&self) {
        self.keeping.keep(&self.pool, Self::now());
    }

    /// After [`Self::keep`], when everything was told: waits a little for what servers give at the end of a handshake.
    pub async fn settle(&self) {
        self.keeping.settle(&self.pool, Self::now()).await;
    }

    fn now() -> Stamp {
        Stamp::of(SystemTime::now())
    }

    /// What people should know, beside the answers.
    pub fn notes(&self) -> Vec<String> {
        self.memory.notes()
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The server that is asked first: lookups of one server wait for each other.
    pub fn lane(&self, query: &Query) -> Rc<str> {
        let targets = self.targets(query).ok();
        let first = targets.and_then(|targets| targets.into_iter().next());
        first.map_or_else(|| "".into(), |target| target.authority().into())
    }

    /// Asks, and asks on, until somebody has answered or nobody is left.
    pub async fn look_up(&self, query: &Query) -> Outcome {
        let _turn = self.turn(query).await;
        if let Some(covered) = self.covered(query) {
            return covered;
        }
        let targets = match self.targets(query) {
            Ok(targets) => targets,
            Err(unasked) => return Outcome::unasked(query, &unasked),
        };
        let mut outcome = Outcome::of(query);
        let doors = Doors::of(&targets, self.is_chosen(query));
        self.ask_in_turn(targets, &doors, is_personal(query), &mut outcome)
            .await;
        self.turn_pages(&mut outcome).await;
        if self.wishes.follow {
            self.follow(&mut outcome).await;
        }
        self.remember_range(&outcome);
        outcome
    }

    /// Asks one server after another, until one knows. What was said by those that do not is told if nobody does.
    async fn ask_in_turn(
        &self,
        targets: Vec<Target>,
        doors: &Doors,
        personal: bool,
        outcome: &mut Outcome,
    ) {
        let mut refusals: Vec<(Target, Source)> = Vec::new();
        for target in targets {
            // The same server by another door would say the same.
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

    /// Is the server one that the user named?
    fn is_chosen(&self, query: &Query) -> bool {
        self.wishes.server.is_some() || query.url().is_some()
    }

    /// The URLs that ask the query, in the order in which to try them.
    fn targets(&self, query: &Query) -> Result<Vec<Target>, Unasked> {
        if query.kind() == Kind::Url
            && let Some(url) = query.url()
        {
            if url.userinfo().is_some() {
                return Err(Unasked::Password(url.redacted()));
            }
            return Ok(vec![url.clone()]);
        }
        let path = query.path();
        if let Some(base) = self.wishes.server.as_ref().or(query.url()) {
            return Ok(vec![base.join(&path)?]);
        }
        let key = query.key().ok_or_else(|| {
            Unasked::Serverless(format!("no registry says who answers '{query}'"))
        })?;
        self.recall(Registry::of(&key));
        let servers = self.bootstrap.borrow().servers(&key)?;
        let targets: Result<Vec<Target>, _> = servers.targets(&path).collect();
        Ok(targets?)
    }

    /// Where an answer may serve a whole range, addresses that are close to each other wait for it.
    async fn turn(&self, query: &Query) -> Option<ranges::Turn> {
        let Some(Key::Ip(address, _)) = query.key().filter(|_| self.wishes.by_range) else {
            return None;
        };
        let turn = self.ranges.borrow_mut().turn(address);
        Some(turn.lock_owned().await)
    }

    /// What an earlier answer says of this address too.
    fn covered(&self, query: &Query) -> Option<Outcome> {
        let Some(Key::Ip(address, bits)) = query.key().filter(|_| self.wishes.by_range) else {
            return None;
        };
        let source = self.ranges.borrow().find(address, bits)?;
        let mut outcome = Outcome::of(query);
        outcome.registry = Some(source);
        Some(outcome)
    }

    fn remember_range(&self, outcome: &Outcome) {
        let found = outcome.registry.as_ref().filter(|_| self.wishes.by_range);
        if let Some(source) = found.filter(|source| source.state() == State::Found) {
            self.ranges.borrow_mut().keep(source);
        }
    }
}

/// Is the answer a data set about a person or a role, of which some registries give so many a day?
fn is_personal(query: &Query) -> bool {
    query.kind() == Kind::Entity
}
