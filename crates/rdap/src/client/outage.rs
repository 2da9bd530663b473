//! Outages: if a server has answered in this run and then stops answering, lookups wait for it, so
//! that a list loses no rows. Meanwhile one lookup at a time tries, after longer and longer pauses;
//! the others wait for it. A failure while others are answered belongs to the lookup.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};

use super::Client;
use roundtrip_fetch::memory::Authority;
use roundtrip_fetch::pool::{PoolError, Reply};

/// The longest time to wait for a server.
const PATIENCE: Duration = Duration::from_secs(30);
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
    /// The wait for it timed out.
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
        self.health.given_up.set(false);
        self.health.since.take().map(|since| since.elapsed())
    }

    /// Notes that the server failed at a request sent at `began`. Returns whether to try again.
    pub(super) fn failed(&mut self, began: Instant, patience: Duration) -> bool {
        let health = self.health;
        let Some(answered) = health.answered.get() else {
            return false;
        };
        self.failures += 1;
        if health.given_up.get() {
            return false;
        }
        if self.failures == 1 && health.since.get().is_none() {
            return !patience.is_zero();
        }
        if answered > began {
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
    /// The longest time to wait for a server; zero unless there is a list.
    pub(super) fn outage_patience(&self) -> Duration {
        if self.options.persistent {
            PATIENCE.min(self.rate_limiter.rules().patience)
        } else {
            Duration::ZERO
        }
    }

    /// The servers that are out at the moment, and that lookups wait for.
    pub fn waited_for(&self) -> Vec<String> {
        self.outages.waited_for()
    }
}

/// Whether the same request could be answered a little later: the server, or a proxy before it, was
/// not available.
pub(super) fn may_pass(reply: &Result<Reply, PoolError>) -> bool {
    match reply {
        // RFC 9110, sections 15.6.3 and 15.6.5.
        Ok(reply) => matches!(reply.status, 502 | 504),
        Err(error) => error.fault().may_pass(),
    }
}
