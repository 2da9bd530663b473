//! Outages: if every lookup of a server fails, lookups wait for it, so that a list loses no rows.
//! Meanwhile one lookup at a time tries, after longer and longer pauses; the others wait for it. A
//! failure while others are answered belongs to the lookup. A server that has not answered in this
//! run is awaited only briefly, and only for a list from a file: it may not exist.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};

use super::Client;
use roundtrip_fetch::memory::Authority;
use roundtrip_fetch::pool::{PoolError, PoolErrorKind, Reply};

/// The longest time to wait for a server.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time to wait for a server that has not answered in this run.
const FIRST_TIMEOUT: Duration = Duration::from_secs(8);
/// The longest time to wait for a server whose answers report failures.
const FAILING_TIMEOUT: Duration = Duration::from_secs(12);
/// The number of lookups in a row at which a server must fail. If fewer fail, the lookups may be at
/// fault.
const MIN_FAILING: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(4);

#[derive(Default)]
pub(super) struct Outages(RefCell<HashMap<Authority, Rc<Health>>>);

/// This run's knowledge about one server.
#[derive(Default)]
pub(super) struct Health {
    /// The time of the last answer.
    answered: Cell<Option<Instant>>,
    /// The time when the outage began.
    since: Cell<Option<Instant>>,
    /// The number of lookups that failed since the outage began.
    failing: Cell<u32>,
    /// Whether the wait for the server has timed out.
    given_up: Cell<bool>,
    turn: Mutex<()>,
}

/// The patience of one lookup with one server.
pub(super) struct Persistence<'h> {
    health: &'h Health,
    pause: Duration,
    failures: u32,
    /// Held by the lookup that tries while the others wait.
    turn: Option<MutexGuard<'h, ()>>,
}

/// The longest time to wait for a server, after it answered in this run, and before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// The number of lookups that must fail before the server is out.
    least: u32,
    after_answers: Duration,
    before_answers: Duration,
}

impl Outages {
    pub(super) fn health(&self, origin: &Authority) -> Rc<Health> {
        self.0
            .borrow_mut()
            .entry(origin.clone())
            .or_default()
            .clone()
    }

    /// The servers that lookups wait for.
    pub(super) fn waited_for(&self) -> Vec<String> {
        let all = self.0.borrow();
        let out = all
            .iter()
            .filter(|(_, health)| health.since.get().is_some());
        out.map(|(origin, _)| origin.to_string()).collect()
    }
}

impl Health {
    pub(super) fn persistence(&self) -> Persistence<'_> {
        Persistence {
            health: self,
            pause: FIRST_PAUSE,
            failures: 0,
            turn: None,
        }
    }
}

impl Persistence<'_> {
    /// Waits while the server is out. Returns how long that took.
    pub(super) async fn wait(&mut self) -> Duration {
        let came = Instant::now();
        let is_out = || self.health.since.get().is_some();
        if self.turn.is_none() && is_out() {
            let turn = self.health.turn.lock().await;
            self.turn = Some(turn).filter(|_| is_out());
        }
        // The first failure can be chance, and the lookup tries again by itself.
        if self.turn.is_some() || self.failures == 1 {
            sleep(self.pause).await;
            self.pause = (2 * self.pause).min(MAX_PAUSE);
        }
        came.elapsed()
    }

    /// Notes an answer. If it ends an outage, returns how long that lasted.
    pub(super) fn answered(&mut self) -> Option<Duration> {
        self.turn = None;
        self.health.answered.set(Some(Instant::now()));
        self.health.failing.set(0);
        self.health.given_up.set(false);
        self.health.since.take().map(|since| since.elapsed())
    }

    /// Notes that the server failed at a request sent at `began`. Returns whether to try again.
    pub(super) fn failed(&mut self, began: Instant, patience: Patience) -> bool {
        let health = self.health;
        let answered = health.answered.get();
        let least = patience.least;
        let patience = match answered {
            Some(_) => patience.after_answers,
            None => patience.before_answers,
        };
        if answered.is_none() && patience.is_zero() {
            return false;
        }
        self.failures += 1;
        if self.failures == 1 {
            health.failing.set(health.failing.get().saturating_add(1));
        }
        if health.given_up.get() {
            return false;
        }
        if self.failures == 1 && health.since.get().is_none() {
            return !patience.is_zero();
        }
        if answered.is_some_and(|answered| answered > began) {
            return false;
        }
        if health.since.get().is_none() && health.failing.get() < least {
            return false;
        }
        let since = health.since.get().unwrap_or(began);
        if since.elapsed() > patience {
            health.given_up.set(true);
            health.since.set(None);
            return false;
        }
        health.since.set(Some(since));
        true
    }
}

impl Client {
    /// How long to wait out an outage; zero unless there is a list.
    pub(super) fn outage_patience(&self, failure: Passing) -> Patience {
        let rules = self.rate_limiter.rules();
        let limit = |wanted: bool, span: Duration| {
            if wanted {
                span.min(rules.patience)
            } else {
                Duration::ZERO
            }
        };
        let (least, span) = match failure {
            Passing::Absent => (1, TIMEOUT),
            Passing::Failing => (MIN_FAILING, FAILING_TIMEOUT),
        };
        Patience {
            least,
            after_answers: limit(self.options.persistent, span),
            before_answers: limit(
                self.options.awaits_first_answer && failure == Passing::Absent,
                FIRST_TIMEOUT,
            ),
        }
    }

    /// The servers that are down at the moment, and that lookups wait for.
    pub fn waited_for(&self) -> Vec<String> {
        self.outages.waited_for()
    }
}

/// A failure after which the same request could be answered a little later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    /// The server, or the server behind a proxy, was not reachable.
    Absent,
    /// The server failed. If it answers other requests, this request is the reason.
    Failing,
}

impl Passing {
    pub(super) fn from_reply(reply: &Result<Reply, PoolError>) -> Option<Self> {
        match reply {
            // RFC 9110, section 15.6, and what networks in front of servers use. The rate limiter
            // handles 503.
            Ok(reply) => match reply.status {
                502 | 504 | 520..=530 => Some(Self::Absent),
                500 => Some(Self::Failing),
                // Maintenance pages can have this status, too.
                200 if is_page(&reply.body) => Some(Self::Failing),
                _ => None,
            },
            Err(error) => match error.kind() {
                fault @ PoolErrorKind::CutShort { .. } if !fault.is_certificate_refusal() => {
                    Some(Self::Failing)
                }
                fault => fault.may_pass().then_some(Self::Absent),
            },
        }
    }
}

/// Whether the body is a web page: no JSON begins like one.
fn is_page(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"<")
}
