//! Single-use TLS sessions, between TLS and the store. rustls does not wait for the store, so the
//! sessions that it may need are put here before the handshake, and new ones are stored afterwards.
//!
//! In the store each session is encrypted under its name, so reading the store reveals no secret.

use std::cell::Cell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use roundtrip_quic::SessionStorage;
use roundtrip_store::{AnyStore, Once, TakesOnce};
use rustls::server::StoresServerSessions;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::session_quota::SessionQuota;
use super::tickets::Tickets;

/// Tickets for each full handshake: a browser opens more than one connection.
pub(super) const TICKET_COUNT: usize = 2;
/// How long a handshake waits for the store: a full handshake costs less than a longer wait.
pub(super) const FETCH_TIMEOUT: Duration = Duration::from_millis(250);
/// The length of rustls' session names. Names of other lengths are not looked up.
const NAME_LENGTH: usize = 32;
/// The largest number of sessions that may wait to be stored; beyond it, clients get no ticket.
const MAX_WAITING: usize = 4096;
/// The lifetime that rustls announces for these tickets.
const MAX_LIFETIME: Duration = Duration::from_hours(24);

/// One thread's sessions.
pub(super) struct SessionPrefetch {
    fetched: Arc<FetchedSessions>,
    store: Rc<AnyStore>,
    seals: Arc<Tickets>,
    quota: Arc<SessionQuota>,
    carrying: JoinHandle<()>,
    counts: Cell<SingleUseCounts>,
}

/// Counts of the sessions that clients asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SingleUseCounts {
    pub(crate) taken: u64,
    /// Already taken, expired, or never stored.
    pub(crate) absent: u64,
    /// The store did not answer in time, or not at all.
    pub(crate) failed: u64,
}

/// The sessions that TLS sees.
#[derive(Debug, Default)]
pub(super) struct FetchedSessions {
    inner: Mutex<PrefetchState>,
    more: Notify,
}

#[derive(Default)]
struct PrefetchState {
    /// Sessions for handshakes in progress, and whether each was stored in the present epoch.
    fetched: HashMap<Vec<u8>, (Vec<u8>, bool)>,
    waiting: Vec<Once>,
}

impl std::fmt::Debug for PrefetchState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} fetched, {} waiting",
            self.fetched.len(),
            self.waiting.len()
        )
    }
}

/// Keeps a session available until its handshake has used it or has ended.
pub(super) struct FetchedSession {
    fetched: Arc<FetchedSessions>,
    name: Vec<u8>,
    /// Whether the session was stored in the present epoch.
    is_new: bool,
}

/// The sessions as QUIC sees them: the sessions of each connection count for its client.
#[derive(Debug, Clone)]
pub(super) struct QuicSessions {
    fetched: Arc<FetchedSessions>,
    seals: Arc<Tickets>,
    quota: Arc<SessionQuota>,
}

/// The sessions as one connection over QUIC sees them.
#[derive(Debug)]
struct ConnectionSessions {
    all: QuicSessions,
    client: IpAddr,
    brought: Mutex<Brought>,
}

/// The session that a client brought.
#[derive(Debug, Clone, Copy, Default)]
enum Brought {
    #[default]
    Nothing,
    Session {
        is_new: bool,
    },
    /// Another session was stored in its place.
    Replaced,
}

impl Drop for FetchedSession {
    fn drop(&mut self) {
        self.fetched.inner().fetched.remove(&self.name);
    }
}

impl SessionPrefetch {
    /// Must run on the thread's runtime.
    pub(super) fn open(store: AnyStore, seals: Arc<Tickets>, quota: Arc<SessionQuota>) -> Self {
        let (fetched, store) = (Arc::<FetchedSessions>::default(), Rc::new(store));
        let carrying = carry(fetched.clone(), store.clone(), seals.clone());
        Self {
            fetched,
            store,
            seals,
            quota,
            carrying: tokio::task::spawn_local(carrying),
            counts: Cell::default(),
        }
    }

    pub(super) fn fetched(&self) -> Arc<FetchedSessions> {
        self.fetched.clone()
    }

    pub(super) fn quic(&self) -> Arc<QuicSessions> {
        Arc::new(QuicSessions {
            fetched: self.fetched.clone(),
            seals: self.seals.clone(),
            quota: self.quota.clone(),
        })
    }

    pub(super) fn counts(&self) -> SingleUseCounts {
        self.counts.get()
    }

    /// The number of tickets for a client. A new ticket that replaces the session that the client
    /// brought is always allowed; it counts only if it lives longer.
    pub(super) fn tickets(&self, client: IpAddr, brings: Option<&FetchedSession>) -> usize {
        let take = |count| self.quota.take(self.seals.now(), client, count);
        match brings {
            Some(session) => {
                let _ = session.is_new || take(1);
                1
            }
            None if take(TICKET_COUNT) => TICKET_COUNT,
            None => 0,
        }
    }

    /// Takes a session from the store, so that no other process can, and puts it where TLS looks
    /// for it.
    pub(super) async fn fetch(&self, name: Option<Vec<u8>>) -> Option<FetchedSession> {
        let name = name.filter(|name| name.len() == NAME_LENGTH)?;
        let answer = timeout(FETCH_TIMEOUT, self.store.take(&name)).await;
        let mut counts = self.counts.get();
        let value = match answer {
            Ok(Ok(value)) => value.and_then(|sealed| {
                let is_new = self.seals.is_new(&sealed);
                Some((self.seals.open(&name, &sealed)?, is_new))
            }),
            Ok(Err(_)) | Err(_) => {
                counts.failed += 1;
                self.counts.set(counts);
                return None;
            }
        };
        match value {
            Some(_) => counts.taken += 1,
            None => counts.absent += 1,
        }
        self.counts.set(counts);
        let (value, is_new) = value?;
        let mut inner = self.fetched.inner();
        inner.fetched.insert(name.clone(), (value, is_new));
        drop(inner);
        Some(FetchedSession {
            fetched: self.fetched.clone(),
            name,
            is_new,
        })
    }
}

impl Drop for SessionPrefetch {
    fn drop(&mut self) {
        self.carrying.abort();
    }
}

/// If the store does not accept a session, it is lost, and the client's next handshake is a full
/// one.
async fn carry(fetched: Arc<FetchedSessions>, store: Rc<AnyStore>, seals: Arc<Tickets>) {
    let life = seals.life().min(MAX_LIFETIME);
    loop {
        fetched.more.notified().await;
        let mut entries = std::mem::take(&mut fetched.inner().waiting);
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

impl FetchedSessions {
    /// No operation leaves the data inconsistent, so a poisoned lock is harmless.
    fn inner(&self) -> MutexGuard<'_, PrefetchState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoresServerSessions for FetchedSessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let mut inner = self.inner();
        if inner.waiting.len() >= MAX_WAITING {
            return false;
        }
        inner.waiting.push(Once { name: key, value });
        drop(inner);
        self.more.notify_one();
        true
    }

    /// Returns nothing: only TLS 1.2 calls this, and it could get a session more than once.
    fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let (value, _) = self.inner().fetched.remove(key)?;
        Some(value)
    }

    /// TLS 1.2 names sessions differently, so its sessions are not kept.
    fn can_cache(&self) -> bool {
        false
    }
}

impl SessionStorage for QuicSessions {
    fn for_connection(&self, client: IpAddr) -> Arc<dyn StoresServerSessions> {
        Arc::new(ConnectionSessions {
            all: self.clone(),
            client,
            brought: Mutex::default(),
        })
    }
}

/// Like [`SessionPrefetch::tickets`], but TLS asks for each ticket.
impl StoresServerSessions for ConnectionSessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let QuicSessions {
            fetched,
            seals,
            quota,
        } = &self.all;
        let mut brought = self.brought.lock().unwrap_or_else(PoisonError::into_inner);
        let take = || quota.take(seals.now(), self.client, 1);
        let may = match *brought {
            Brought::Nothing => take(),
            Brought::Session { is_new } => {
                *brought = Brought::Replaced;
                let _ = is_new || take();
                true
            }
            Brought::Replaced => false,
        };
        may && fetched.put(key, value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.all.fetched.get(key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let (value, is_new) = self.all.fetched.inner().fetched.remove(key)?;
        let mut brought = self.brought.lock().unwrap_or_else(PoisonError::into_inner);
        *brought = Brought::Session { is_new };
        Some(value)
    }

    fn can_cache(&self) -> bool {
        self.all.fetched.can_cache()
    }
}
