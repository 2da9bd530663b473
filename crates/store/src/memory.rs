//! Sessions that live as long as the process: for tests, and for users who can sign in again after
//! a restart.

mod index;
mod once;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use roundtrip_model::WallClock;
use tokio::sync::watch;

use crate::journal::Journal;
use crate::{Change, Page, Record, Store, StoreError, check_sid, is_sid};
use index::IndexEntries;
use once::OnceValues;

/// The largest number of sessions.
const MAX_SESSIONS: usize = 1 << 20;
/// The largest number of expired sessions that each new one removes. It is greater than one, so
/// that expired ones cannot pile up.
const MAX_SWEPT: usize = 4;

/// Sessions in memory, shared by all threads.
#[derive(Clone)]
pub struct Memory {
    shared: Arc<Shared>,
}

struct Shared {
    inner: Mutex<Inner>,
    once: OnceValues,
    claims: OnceValues,
    indexes: IndexEntries,
    latest: watch::Sender<u64>,
    clock: Arc<dyn WallClock + Send + Sync>,
}

#[derive(Default)]
struct Inner {
    sessions: BTreeMap<String, Record>,
    /// Sessions in the order of their expiry.
    ends: BTreeSet<(SystemTime, String)>,
    journal: Journal,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(Arc::new(SystemTime::now))
    }
}

impl Memory {
    pub fn new(clock: Arc<dyn WallClock + Send + Sync>) -> Self {
        let inner = Mutex::default();
        let latest = watch::Sender::new(0);
        let shared = Shared {
            inner,
            once: OnceValues::default(),
            claims: OnceValues::default(),
            indexes: IndexEntries::default(),
            latest,
            clock,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.shared.clock.now()
    }

    pub(crate) fn latest(&self) -> watch::Receiver<u64> {
        self.shared.latest.subscribe()
    }

    pub(crate) fn since(&self, seen: u64) -> (u64, Vec<Change>) {
        self.inner().journal.since(seen)
    }

    /// Locks the sessions. A panic leaves nothing half done, so a poisoned lock can be used.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        let locked = self.shared.inner.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, inner: &mut Inner, sid: &str) {
        let number = inner.journal.write(sid);
        self.shared.latest.send_replace(number);
    }
}

impl Inner {
    fn remove(&mut self, sid: &str) -> Option<Record> {
        let record = self.sessions.remove(sid)?;
        if let Some(end) = record.expires {
            self.ends.remove(&(end, sid.to_owned()));
        }
        Some(record)
    }

    fn sweep(&mut self, now: SystemTime) {
        for _ in 0..MAX_SWEPT {
            let Some((end, sid)) = self.ends.pop_first() else {
                return;
            };
            if end > now {
                self.ends.insert((end, sid));
                return;
            }
            self.sessions.remove(&sid);
        }
    }
}

impl Store for Memory {
    async fn get(&self, sid: &str) -> Result<Option<Record>, StoreError> {
        let now = self.now();
        let mut inner = self.inner();
        if inner.sessions.get(sid).is_some_and(|r| r.is_expired(now)) {
            inner.remove(sid);
        }
        Ok(inner.sessions.get(sid).cloned())
    }

    async fn put(&self, sid: &str, record: &Record) -> Result<(), StoreError> {
        check_sid(sid)?;
        let now = self.now();
        let mut inner = self.inner();
        inner.sweep(now);
        inner.remove(sid);
        if !record.is_expired(now) {
            if inner.sessions.len() >= MAX_SESSIONS {
                return Err(StoreError::down(format!(
                    "memory already holds {MAX_SESSIONS} sessions"
                )));
            }
            if let Some(end) = record.expires {
                inner.ends.insert((end, sid.to_owned()));
            }
            inner.sessions.insert(sid.to_owned(), record.clone());
        }
        self.note(&mut inner, sid);
        Ok(())
    }

    async fn replace(
        &self,
        sid: &str,
        credentials: &[u8],
        record: &Record,
    ) -> Result<bool, StoreError> {
        let now = self.now();
        let mut inner = self.inner();
        let there = inner.sessions.get_mut(sid);
        let there = there.filter(|r| !r.is_expired(now) && r.credentials == credentials);
        let Some(there) = there else {
            return Ok(false);
        };
        let expires = there.expires;
        *there = record.clone();
        there.expires = expires;
        self.note(&mut inner, sid);
        Ok(true)
    }

    async fn revoke(&self, sid: &str) -> Result<bool, StoreError> {
        if !is_sid(sid) {
            return Ok(false);
        }
        let now = self.now();
        let mut inner = self.inner();
        let was = inner.remove(sid).is_some_and(|r| !r.is_expired(now));
        self.note(&mut inner, sid);
        Ok(was)
    }

    async fn list(&self, after: Option<&str>, limit: usize) -> Result<Page, StoreError> {
        let now = self.now();
        let inner = self.inner();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let sessions = inner.sessions.range::<str, _>((from, Bound::Unbounded));
        let living = sessions.filter(|(_, r)| !r.is_expired(now));
        let mut sids: Vec<String> = living
            .map(|(sid, _)| sid.clone())
            .take(limit.saturating_add(1))
            .collect();
        Ok(Page {
            next: page_end(&mut sids, limit),
            sids,
        })
    }
}

/// Drops the extra name that was read to learn whether there are more.
pub(crate) fn page_end(sids: &mut Vec<String>, limit: usize) -> Option<String> {
    if sids.len() <= limit {
        return None;
    }
    sids.truncate(limit);
    sids.last().cloned()
}
