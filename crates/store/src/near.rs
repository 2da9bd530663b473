//! The near cache of one thread: an answer is reused as long as the store reports changes.
//!
//! - While the store reports changes, a known session costs no request; a reported change removes
//!   it at once. If something is held open for it (an event stream), the store is asked again,
//!   because the session could have been extended; if it was revoked, the holder is notified.
//! - When a connection that reports changes is lost, the thread forgets all sessions that it
//!   covers. It uses them again only if the store cannot be asked at all, and only for the
//!   configured grace, which is zero by default.
//! - A store that never reports changes (an old Redis) is asked for each request, and once a second
//!   for held sessions.
//! - Unknown names are remembered for a short time and in limited number. Concurrent requests for
//!   one name share one answer.
//!
//! Threads share nothing here, and each has its own connection, so an invalidation needs no lock,
//! no copy to other threads, and no wake-up of another thread.

mod cache;
mod counts;
mod flight;
mod kept;
mod revalidation;
mod revoked;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::{AnyStore, Change, Page, Record, Source, StoreError, StorePart, is_sid};
use cache::{Cache, Entry, Lookup};
pub use counts::Counts;
use flight::{Flight, Landing, Outcome};
pub use kept::EntryHandle;
use revalidation::{Revalidation, Revalidations};
pub use revoked::Revoked;

/// The number of times that an answer is asked for again because a change overtook it.
const ATTEMPTS: usize = 4;
/// The number of doubtful sessions that are asked for at once.
const ASKED_AT_ONCE: usize = 256;
/// The interval at which a store that reports no changes is asked about sessions that are held.
const POLL: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearSettings {
    /// The largest number of sessions that are remembered.
    pub sessions: usize,
    /// The largest number of unknown names that are remembered.
    pub absent: usize,
    pub absent_time: Duration,
    /// The time that known sessions continue while the store is down.
    pub grace: Duration,
}

impl Default for NearSettings {
    fn default() -> Self {
        Self {
            sessions: 16 * 1024,
            absent: 1024,
            absent_time: Duration::from_secs(1),
            grace: Duration::ZERO,
        }
    }
}

/// A session, and how it was found.
#[derive(Clone)]
pub struct Found {
    pub record: Rc<Record>,
    pub revoked: Revoked,
    pub status: CacheStatus,
    pub kept: EntryHandle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheStatus {
    /// The session was in the cache.
    Hit,
    /// The store was asked.
    Miss,
    /// The session was known before the store went down.
    Stale,
}

pub struct Near<S = AnyStore> {
    store: S,
    cache: RefCell<Cache>,
    doubts: RefCell<Revalidations>,
    flights: RefCell<HashMap<Rc<str>, Rc<Flight>>>,
    /// Signals that a session must be asked for again.
    recheck: Notify,
    counts: Cell<Counts>,
}

impl<S: Source> Near<S> {
    pub fn new(store: S, settings: NearSettings) -> Self {
        let cache = Cache::new(settings.sessions, settings.absent, settings.absent_time);
        Self {
            store,
            cache: RefCell::new(cache),
            doubts: RefCell::new(Revalidations::new(settings.grace, settings.sessions)),
            flights: RefCell::default(),
            recheck: Notify::new(),
            counts: Cell::default(),
        }
    }

    pub fn store(&self) -> &S {
        &self.store
    }

    pub fn counts(&self) -> Counts {
        self.counts.get()
    }

    /// The number of sessions that are remembered.
    pub fn len(&self) -> usize {
        self.cache.borrow().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The session with this name, or `None` if there is none. If the store is down and the session
    /// unknown, the error is an outage.
    pub async fn get(&self, sid: &str) -> Result<Option<Found>, StoreError> {
        if !is_sid(sid) {
            return Ok(None);
        }
        self.settle();
        if self.store.is_watching(Some(sid)) {
            match self.known(sid) {
                Some(Lookup::Session(entry)) => {
                    self.count(|c| c.hits += 1);
                    return Ok(Some(found(entry, CacheStatus::Hit)));
                }
                Some(Lookup::Absent) => {
                    self.count(|c| c.absent_hits += 1);
                    return Ok(None);
                }
                None => {}
            }
        }
        self.ask(sid).await
    }

    /// The session, if it is known without asking: while changes are reported, or by grace. `None`
    /// means that the store must be asked, not that the session does not exist.
    pub fn peek(&self, sid: &str) -> Option<Found> {
        self.settle();
        if self.store.is_watching(Some(sid)) {
            let Some(Lookup::Session(entry)) = self.known(sid) else {
                return None;
            };
            self.count(|c| c.hits += 1);
            return Some(found(entry, CacheStatus::Hit));
        }
        let entry = self.graced(sid)?;
        self.count(|c| c.graced += 1);
        Some(found(entry, CacheStatus::Stale))
    }

    /// Whether [`Self::peek`] would find the same entry again. If so, this costs only a few loads.
    /// The caller checks the expiry, which is in the record.
    pub fn holds(&self, sid: &str, kept: &EntryHandle) -> bool {
        self.settle();
        if self.store.is_watching(Some(sid)) {
            if kept.is_there() {
                kept.use_it();
                self.count(|c| c.hits += 1);
            }
            return kept.is_there();
        }
        let holds = self.graced(sid).is_some_and(|entry| entry.kept.is(kept));
        if holds {
            self.count(|c| c.graced += 1);
        }
        holds
    }

    /// Returns a handle for callers that keep something open for a session; it fires when they must
    /// close it. `None` if the session is no longer known.
    pub fn hold(&self, sid: &str, kept: &EntryHandle) -> Option<Revoked> {
        self.settle();
        let same = |entry: &&Entry| entry.kept.is(kept);
        let cache = self.cache.borrow();
        let doubts = self.doubts.borrow();
        let known = cache.entry(sid).filter(same);
        let entry = known.or_else(|| doubts.entry(sid).filter(same))?;
        Some(entry.revoked.clone())
    }

    pub async fn put(&self, sid: &str, record: &Record) -> Result<(), StoreError> {
        let outcome = self.store.put(sid, record).await;
        self.touched(sid);
        outcome
    }

    /// Revokes a session. Its holders are notified at once, whatever the store answers.
    pub async fn revoke(&self, sid: &str) -> Result<bool, StoreError> {
        let outcome = self.store.revoke(sid).await;
        self.touched(sid);
        if outcome.is_ok() {
            self.end(sid);
        }
        outcome
    }

    pub async fn list(&self, after: Option<&str>, limit: usize) -> Result<Page, StoreError> {
        self.store.list(after, limit).await
    }

    /// Receives changes and maintains the store's connection. It runs on a `LocalSet`, for as long
    /// as the thread serves requests.
    pub async fn run(self: Rc<Self>)
    where
        S: 'static,
    {
        let mut asking = JoinSet::new();
        // The future is kept between iterations, because it may be in the middle of connecting.
        let changed = self.store.changed();
        tokio::pin!(changed);
        loop {
            self.settle();
            self.start_rechecks(&mut asking);
            let ends = self.doubts.borrow().first_end();
            tokio::select! {
                () = &mut changed => changed.set(self.store.changed()),
                () = self.recheck.notified() => {}
                Some(_) = asking.join_next() => {}
                () = sleep_until(ends.unwrap_or_else(Instant::now)), if ends.is_some() => {}
                () = sleep(POLL), if !self.store.is_watching(None) => self.doubts.borrow_mut().ask_all(),
            }
        }
    }

    fn start_rechecks(self: &Rc<Self>, asking: &mut JoinSet<()>)
    where
        S: 'static,
    {
        while asking.len() < ASKED_AT_ONCE {
            let Some(sid) = self.doubts.borrow_mut().next_to_ask() else {
                return;
            };
            let this = self.clone();
            asking.spawn_local(async move {
                // The answer, or the lack of one, reaches the holders.
                let _ = this.ask(&sid).await;
            });
        }
    }

    /// Processes the changes that the store has reported.
    fn settle(&self) {
        while let Some(change) = self.store.next_change() {
            match change {
                Change::Touched(sid) => self.touched(&sid),
                Change::Everything => self.flush(&StorePart::Whole, true),
                Change::Lost(part) => self.flush(&part, false),
                Change::Back => {
                    self.doubts.borrow_mut().ask_all();
                    self.recheck.notify_one();
                }
            }
        }
        let ended = self.doubts.borrow_mut().take_ended();
        for entry in ended {
            self.fire(&entry);
        }
    }

    fn touched(&self, sid: &str) {
        if let Some(flight) = self.flights.borrow().get(sid) {
            flight.overtake();
        }
        let mut doubts = self.doubts.borrow_mut();
        doubts.touched(sid);
        if let Some(entry) = self.cache.borrow_mut().remove(sid) {
            self.count(|c| c.invalidated += 1);
            if entry.revoked.is_held() {
                doubts.add_touched(sid.into(), entry);
            }
        }
        if doubts.has_to_ask() {
            self.recheck.notify_one();
        }
    }

    fn flush(&self, part: &StorePart, can_ask: bool) {
        self.count(|c| c.flushes += 1);
        for flight in self.flights.borrow().values() {
            flight.overtake();
        }
        let mut doubts = self.doubts.borrow_mut();
        for (sid, entry) in self.cache.borrow_mut().drain(part) {
            doubts.add(sid, entry);
        }
        if can_ask {
            doubts.touch_all();
        }
        self.recheck.notify_one();
    }

    fn known(&self, sid: &str) -> Option<Lookup> {
        let mut cache = self.cache.borrow_mut();
        match cache.find(sid) {
            Some(Lookup::Session(entry)) if entry.revoked.is_fired() => {
                cache.remove(sid);
                None
            }
            known => known,
        }
    }

    fn graced(&self, sid: &str) -> Option<Entry> {
        if !self.store.is_down(Some(sid)) {
            return None;
        }
        self.doubts.borrow().graced(sid).cloned()
    }

    async fn ask(&self, sid: &str) -> Outcome {
        loop {
            let under_way = self.flights.borrow().get(sid).cloned();
            let Some(flight) = under_way else {
                break;
            };
            self.count(|c| c.joined += 1);
            if let Some(outcome) = flight.outcome().await {
                return outcome;
            }
        }
        let sid: Rc<str> = sid.into();
        let flight = Rc::new(Flight::default());
        self.flights
            .borrow_mut()
            .insert(sid.clone(), flight.clone());
        let _landing = Landing {
            flights: &self.flights,
            sid: &sid,
            flight: &flight,
        };
        let outcome = self.fetch(&sid, &flight).await;
        flight.land(outcome.clone());
        outcome
    }

    async fn fetch(&self, sid: &Rc<str>, flight: &Flight) -> Outcome {
        for _ in 0..ATTEMPTS {
            self.count(|c| c.asked += 1);
            let answer = self.store.get(sid).await;
            self.settle();
            // A change cannot overtake an error.
            if answer.is_ok() && flight.take_overtaken() {
                if matches!(answer, Ok(None)) {
                    // Even if it is there again: it was revoked.
                    self.end(sid);
                }
                continue;
            }
            return self.learn(sid, answer);
        }
        // It changes all the time: accept the answer this once, without keeping it.
        let answer = self.store.get(sid).await?;
        Ok(answer.map(|record| {
            let entry = self.entry(record);
            entry.revoked.fire();
            found(entry, CacheStatus::Miss)
        }))
    }

    fn learn(&self, sid: &Rc<str>, answer: Result<Option<Record>, StoreError>) -> Outcome {
        let before = self.take_doubt(sid);
        match answer {
            Ok(Some(record)) => {
                let entry = match before {
                    Some(doubt) => self.revive(doubt.entry, record),
                    None => self.entry(record),
                };
                if self.store.is_watching(Some(sid)) {
                    let evicted = self.cache.borrow_mut().insert(sid, entry.clone());
                    self.count(|c| c.evicted += evicted as u64);
                } else {
                    self.doubts
                        .borrow_mut()
                        .add_known(sid.clone(), entry.clone());
                }
                Ok(Some(found(entry, CacheStatus::Miss)))
            }
            Ok(None) => {
                if let Some(doubt) = before {
                    self.fire(&doubt.entry);
                }
                if self.store.is_watching(Some(sid)) {
                    self.cache.borrow_mut().insert_absent(sid);
                }
                Ok(None)
            }
            Err(error) => self.do_without(sid, before, error),
        }
    }

    /// Takes what is known of a session whose answer has come. The store may stop reporting, or
    /// refuse to answer, before it says that changes were lost; the session is then still in the
    /// cache.
    fn take_doubt(&self, sid: &Rc<str>) -> Option<Revalidation> {
        let doubt = self.doubts.borrow_mut().take(sid);
        let cached = self.cache.borrow_mut().remove(sid);
        cached.map(Revalidation::new).or(doubt)
    }

    /// Handles a store that did not answer: known sessions continue for a while, unless a change of
    /// them was reported.
    fn do_without(
        &self,
        sid: &Rc<str>,
        before: Option<Revalidation>,
        error: StoreError,
    ) -> Outcome {
        let Some(doubt) = before else {
            if error.is_outage() {
                self.count(|c| c.outages += 1);
            }
            return Err(error);
        };
        let entry = doubt.entry.clone();
        let may_go_on = error.is_outage() && self.doubts.borrow().is_graced(&doubt);
        if !may_go_on || entry.revoked.is_fired() {
            self.fire(&entry);
            self.count(|c| c.outages += 1);
            return Err(error);
        }
        self.doubts.borrow_mut().put_back(sid.clone(), doubt);
        self.count(|c| c.graced += 1);
        Ok(Some(found(entry, CacheStatus::Stale)))
    }

    /// Makes the session known again. With the same credentials it keeps its handle; with others it
    /// counts as another session.
    fn revive(&self, before: Entry, record: Record) -> Entry {
        if before.revoked.is_fired() || before.record.credentials != record.credentials {
            self.fire(&before);
            return self.entry(record);
        }
        let expires = revoked::instant(record.expires, self.store.now());
        before.revoked.expire_at(expires);
        Entry {
            record: Rc::new(record),
            revoked: before.revoked,
            kept: EntryHandle::new(),
        }
    }

    fn entry(&self, record: Record) -> Entry {
        let expires = revoked::instant(record.expires, self.store.now());
        Entry {
            record: Rc::new(record),
            revoked: Revoked::new(expires),
            kept: EntryHandle::new(),
        }
    }

    /// Removes a session that is known to have ended, without a request to the store.
    fn end(&self, sid: &str) {
        if let Some(doubt) = self.doubts.borrow_mut().take(sid) {
            self.fire(&doubt.entry);
        }
    }

    fn fire(&self, entry: &Entry) {
        if entry.revoked.is_held() && !entry.revoked.is_fired() {
            self.count(|c| c.revoked += 1);
        }
        entry.revoked.fire();
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }
}

fn found(entry: Entry, status: CacheStatus) -> Found {
    Found {
        record: entry.record,
        revoked: entry.revoked,
        status,
        kept: entry.kept,
    }
}

#[cfg(test)]
mod tests;
