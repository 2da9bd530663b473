//! Sessions that are good once, between TLS and the store. TLS does not wait: what it may ask for lies here before it begins,
//! and what it wants to keep is carried to the store afterwards.
//!
//! In the store each session lies sealed under its name: whoever reads the store learns no secret from it.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use roundtrip_store::{AnyStore, Once, TakesOnce};
use rustls::server::StoresServerSessions;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::tickets::Tickets;

/// So long a handshake waits for the store: a full one costs less than a client that waits.
pub(super) const PATIENCE: Duration = Duration::from_millis(250);
/// Names of sessions, as rustls makes them. Nothing else is asked for.
const NAME: usize = 32;
/// What waits to be carried to the store; more is not kept, and no ticket given for it.
const MOST_WAITING: usize = 4096;
/// What rustls tells clients of tickets that are kept here.
const LONGEST: Duration = Duration::from_hours(24);

/// One thread's.
pub(super) struct Desk {
    papers: Arc<Papers>,
    store: Rc<AnyStore>,
    seals: Arc<Tickets>,
    carrying: JoinHandle<()>,
    tally: Cell<Tally>,
}

/// What became of sessions that clients asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) taken: u64,
    /// Taken before, expired, or never there.
    pub(crate) absent: u64,
    /// The store did not say in time, or not at all.
    pub(crate) failed: u64,
}

/// What TLS sees.
#[derive(Debug, Default)]
pub(super) struct Papers {
    inner: Mutex<Inner>,
    more: Notify,
}

#[derive(Default)]
struct Inner {
    /// For handshakes that are on their way.
    fetched: HashMap<Vec<u8>, Vec<u8>>,
    waiting: Vec<Once>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} fetched, {} waiting",
            self.fetched.len(),
            self.waiting.len()
        )
    }
}

/// A session that lies on the desk until the handshake has it, or is over without it.
pub(super) struct Fetched {
    papers: Arc<Papers>,
    name: Vec<u8>,
}

impl Drop for Fetched {
    fn drop(&mut self) {
        self.papers.inner().fetched.remove(&self.name);
    }
}

impl Desk {
    /// On the thread's `LocalSet`.
    pub(super) fn open(store: AnyStore, seals: Arc<Tickets>) -> Self {
        let (papers, store) = (Arc::<Papers>::default(), Rc::new(store));
        let carrying = carry(papers.clone(), store.clone(), seals.clone());
        Self {
            papers,
            store,
            seals,
            carrying: tokio::task::spawn_local(carrying),
            tally: Cell::default(),
        }
    }

    pub(super) fn papers(&self) -> Arc<Papers> {
        self.papers.clone()
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally.get()
    }

    /// Takes a session from the store, so that nobody else can, and lays it where TLS looks for it.
    pub(super) async fn fetch(&self, name: Option<Vec<u8>>) -> Option<Fetched> {
        let name = name.filter(|name| name.len() == NAME)?;
        let answer = timeout(PATIENCE, self.store.take(&name)).await;
        let mut tally = self.tally.get();
        let value = match answer {
            Ok(Ok(value)) => value.and_then(|sealed| self.seals.open(&name, &sealed)),
            Ok(Err(_)) | Err(_) => {
                tally.failed += 1;
                self.tally.set(tally);
                return None;
            }
        };
        match value {
            Some(_) => tally.taken += 1,
            None => tally.absent += 1,
        }
        self.tally.set(tally);
        self.papers.inner().fetched.insert(name.clone(), value?);
        Some(Fetched {
            papers: self.papers.clone(),
            name,
        })
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.carrying.abort();
    }
}

/// What the store does not take is lost: its client shakes hands in full.
async fn carry(papers: Arc<Papers>, store: Rc<AnyStore>, seals: Arc<Tickets>) {
    let life = seals.life().min(LONGEST);
    loop {
        papers.more.notified().await;
        let mut entries = std::mem::take(&mut papers.inner().waiting);
        entries.retain_mut(|once| match seals.seal(&once.name, &once.value) {
            Ok(sealed) => {
                once.value = sealed;
                true
            }
            Err(_) => false,
        });
        if !entries.is_empty() {
            let _ = store.keep(entries, life).await;
        }
    }
}

impl Papers {
    /// Nothing is left half done under the lock.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoresServerSessions for Papers {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let mut inner = self.inner();
        if inner.waiting.len() >= MOST_WAITING {
            return false;
        }
        inner.waiting.push(Once { name: key, value });
        drop(inner);
        self.more.notify_one();
        true
    }

    /// Only TLS 1.2 asks so, and could more than once.
    fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.inner().fetched.remove(key)
    }

    /// Of TLS 1.2, which has names of its own for sessions, none is kept.
    fn can_cache(&self) -> bool {
        false
    }
}
