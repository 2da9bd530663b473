//! The configured store: opened once, with a handle for each thread.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use crate::once::{Once, TakesOnce};
use crate::{
    Change, Indexes, Memory, Page, Record, Redb, Redis, RedisSettings, Source, Store, StoreError,
};

/// The interval between reads of the file's journal: other processes change the file without
/// notice.
const JOURNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Can be sent to any thread.
#[derive(Clone)]
pub enum SharedStore {
    Memory(Memory),
    Redb(Redb),
    Redis(Arc<RedisSettings>),
}

impl SharedStore {
    /// Makes a handle for this thread. Redis is not contacted until the first session is asked for.
    pub fn on_this_thread(&self) -> AnyStore {
        match self {
            Self::Memory(memory) => {
                let reader = Reader::new(memory.latest());
                AnyStore::Memory(memory.clone(), reader)
            }
            Self::Redb(redb) => AnyStore::Redb(redb.clone(), Reader::new(redb.latest())),
            Self::Redis(settings) => AnyStore::Redis(Redis::new(settings.clone())),
        }
    }
}

/// A thread's handle to a store.
pub enum AnyStore {
    Memory(Memory, Reader),
    Redb(Redb, Reader),
    Redis(Redis),
}

impl TakesOnce for AnyStore {
    async fn keep(&self, entries: Vec<Once>, life: Duration) -> Result<(), StoreError> {
        match self {
            Self::Memory(store, _) => store.keep(entries, life).await,
            Self::Redb(store, _) => store.keep(entries, life).await,
            Self::Redis(store) => store.keep(entries, life).await,
        }
    }

    async fn take(&self, name: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self {
            Self::Memory(store, _) => store.take(name).await,
            Self::Redb(store, _) => store.take(name).await,
            Self::Redis(store) => store.take(name).await,
        }
    }

    async fn claim(&self, name: &[u8], life: Duration) -> Result<bool, StoreError> {
        match self {
            Self::Memory(store, _) => store.claim(name, life).await,
            Self::Redb(store, _) => store.claim(name, life).await,
            Self::Redis(store) => store.claim(name, life).await,
        }
    }

    async fn release(&self, name: &[u8]) -> Result<(), StoreError> {
        match self {
            Self::Memory(store, _) => store.release(name).await,
            Self::Redb(store, _) => store.release(name).await,
            Self::Redis(store) => store.release(name).await,
        }
    }
}

impl Indexes for AnyStore {
    async fn insert(
        &self,
        index: &str,
        sid: &str,
        end: SystemTime,
    ) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Memory(store, _) => store.insert(index, sid, end).await,
            Self::Redb(store, _) => store.insert(index, sid, end).await,
            Self::Redis(store) => store.insert(index, sid, end).await,
        }
    }

    async fn entered(&self, index: &str) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Memory(store, _) => store.entered(index).await,
            Self::Redb(store, _) => store.entered(index).await,
            Self::Redis(store) => store.entered(index).await,
        }
    }
}

/// The position up to which this thread has read the journal.
pub struct Reader {
    latest: RefCell<watch::Receiver<u64>>,
    seen: Cell<u64>,
    changes: RefCell<VecDeque<Change>>,
}

impl Reader {
    fn new(latest: watch::Receiver<u64>) -> Self {
        let seen = Cell::new(*latest.borrow());
        Self {
            latest: RefCell::new(latest),
            seen,
            changes: RefCell::default(),
        }
    }

    fn is_behind(&self) -> bool {
        *self.latest.borrow().borrow() > self.seen.get()
    }

    fn next(&self, since: impl FnOnce(u64) -> (u64, Vec<Change>)) -> Option<Change> {
        if self.is_behind() {
            self.read(since);
        }
        self.changes.borrow_mut().pop_front()
    }

    fn read(&self, since: impl FnOnce(u64) -> (u64, Vec<Change>)) {
        let (seen, news) = since(self.seen.get());
        self.seen.set(seen);
        self.changes.borrow_mut().extend(news);
    }

    fn has_some(&self) -> bool {
        self.is_behind() || !self.changes.borrow().is_empty()
    }

    async fn wait(&self) {
        let mut latest = self.latest.borrow().clone();
        let seen = self.seen.get();
        if latest.wait_for(|number| *number > seen).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Store for AnyStore {
    async fn get(&self, sid: &str) -> Result<Option<Record>, StoreError> {
        match self {
            Self::Memory(store, _) => store.get(sid).await,
            Self::Redb(store, _) => store.get(sid).await,
            Self::Redis(store) => store.get(sid).await,
        }
    }

    async fn put(&self, sid: &str, record: &Record) -> Result<(), StoreError> {
        match self {
            Self::Memory(store, _) => store.put(sid, record).await,
            Self::Redb(store, _) => store.put(sid, record).await,
            Self::Redis(store) => store.put(sid, record).await,
        }
    }

    async fn put_all(&self, sessions: &[(&str, &Record)]) -> Result<(), StoreError> {
        match self {
            Self::Memory(store, _) => store.put_all(sessions).await,
            Self::Redb(store, _) => store.put_all(sessions).await,
            Self::Redis(store) => store.put_all(sessions).await,
        }
    }

    async fn replace(
        &self,
        sid: &str,
        credentials: &[u8],
        record: &Record,
    ) -> Result<bool, StoreError> {
        match self {
            Self::Memory(store, _) => store.replace(sid, credentials, record).await,
            Self::Redb(store, _) => store.replace(sid, credentials, record).await,
            Self::Redis(store) => store.replace(sid, credentials, record).await,
        }
    }

    async fn replace_all(
        &self,
        sessions: &[(&str, &[u8], &Record)],
    ) -> Result<Vec<bool>, StoreError> {
        match self {
            Self::Memory(store, _) => store.replace_all(sessions).await,
            Self::Redb(store, _) => store.replace_all(sessions).await,
            Self::Redis(store) => store.replace_all(sessions).await,
        }
    }

    async fn revoke(&self, sid: &str) -> Result<bool, StoreError> {
        match self {
            Self::Memory(store, _) => store.revoke(sid).await,
            Self::Redb(store, _) => store.revoke(sid).await,
            Self::Redis(store) => store.revoke(sid).await,
        }
    }

    async fn list(&self, after: Option<&str>, limit: usize) -> Result<Page, StoreError> {
        match self {
            Self::Memory(store, _) => store.list(after, limit).await,
            Self::Redb(store, _) => store.list(after, limit).await,
            Self::Redis(store) => store.list(after, limit).await,
        }
    }
}

impl Source for AnyStore {
    fn next_change(&self) -> Option<Change> {
        match self {
            Self::Memory(store, reader) => reader.next(|seen| store.since(seen)),
            Self::Redb(store, reader) => reader.next(|seen| store.since(seen)),
            Self::Redis(store) => store.next_change(),
        }
    }

    async fn changed(&self) {
        match self {
            Self::Memory(_, reader) if reader.has_some() => {}
            Self::Memory(_, reader) => reader.wait().await,
            Self::Redb(store, reader) => {
                while !reader.has_some() {
                    let waited = tokio::time::timeout(JOURNAL_INTERVAL, reader.wait()).await;
                    if waited.is_err() {
                        reader.read(|seen| store.since(seen));
                        store.sweep_now_and_then();
                    }
                }
            }
            Self::Redis(store) => store.changed().await,
        }
    }

    fn is_watching(&self, sid: Option<&str>) -> bool {
        match self {
            Self::Memory(..) | Self::Redb(..) => true,
            Self::Redis(store) => store.is_watching(sid),
        }
    }

    fn is_down(&self, sid: Option<&str>) -> bool {
        match self {
            Self::Memory(..) | Self::Redb(..) => false,
            Self::Redis(store) => store.is_down(sid),
        }
    }

    fn why_down(&self) -> Option<String> {
        match self {
            Self::Memory(..) | Self::Redb(..) => None,
            Self::Redis(store) => store.why_down(),
        }
    }

    fn now(&self) -> SystemTime {
        match self {
            Self::Memory(store, _) => store.now(),
            Self::Redb(store, _) => store.now(),
            Self::Redis(store) => store.now(),
        }
    }
}
