//! Sessions from a store for the guard. A session is valid as long as the near cache has the same
//! value.
//!
//! A [`StoreHandle`] is opened once, from the configuration. Each thread makes its own
//! [`NearSessions`] from it and runs [`NearSessions::run`] while it serves. The guard decides what
//! a session allows, and for how long.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use roundtrip_store::{
    self as store, AnyStore, Counts, EntryHandle, Near, NearSettings, Source, StoreError,
};
use tracing::warn;

use crate::GateError;
use crate::config::{self, SessionStore};
use crate::judge::guard::{Found, SessionError, Sessions, Watch};

/// A session store that may be given to any thread.
#[derive(Clone)]
pub struct StoreHandle {
    store: store::SharedStore,
    settings: NearSettings,
    outage: Outage,
}

/// Why the store last failed to answer, in any thread.
#[derive(Clone, Default)]
pub(crate) struct Outage(Arc<Mutex<String>>);

/// One thread's sessions; clones share them.
#[derive(Clone)]
pub struct NearSessions(Rc<Near<AnyStore>>);

/// One session, as it was found.
struct SessionWatch {
    near: Rc<Near<AnyStore>>,
    sid: Box<str>,
    kept: EntryHandle,
}

impl StoreHandle {
    /// Redis is not contacted before the first query; a file is opened, or created.
    pub fn open(config: &SessionStore) -> Result<Self, GateError> {
        let settings = NearSettings {
            sessions: config.remembered,
            absent: config.absent,
            absent_time: config.absent_time.0,
            grace: config.grace.0,
        };
        let store = config::place(config)?;
        Ok(Self {
            store,
            settings,
            outage: Outage::default(),
        })
    }

    pub fn on_this_thread(&self) -> NearSessions {
        let near = Near::new(self.store.on_this_thread(), self.settings);
        NearSessions(Rc::new(near))
    }

    pub(crate) fn outage(&self) -> &Outage {
        &self.outage
    }

    /// The store itself, for other things that are kept there.
    pub(crate) fn shared(&self) -> store::SharedStore {
        self.store.clone()
    }

    /// The store without a cache, for managing sessions.
    pub fn store(&self) -> AnyStore {
        self.store.on_this_thread()
    }
}

impl Outage {
    pub(crate) fn is_told(&self, why: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    pub(crate) fn why(&self) -> String {
        let why = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        why.clone()
    }

    /// Whether both belong to the same store.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl NearSessions {
    /// Receives changes, and keeps the store's connection open. It must run on the thread's
    /// `LocalSet`, for as long as the thread serves.
    pub async fn run(self) {
        self.0.run().await;
    }

    /// Whether there are more than this many clones.
    pub(crate) fn is_shared_by_more_than(&self, clones: usize) -> bool {
        Rc::strong_count(&self.0) > clones
    }

    pub fn counts(&self) -> Counts {
        self.0.counts()
    }

    /// Whether the last query failed.
    pub(crate) fn is_down(&self) -> bool {
        self.0.store().is_down(None)
    }

    /// The store's error.
    pub(crate) fn why_down(&self) -> Option<String> {
        self.0.store().why_down()
    }

    /// The number of cached sessions.
    pub fn remembered(&self) -> usize {
        self.0.len()
    }
}

impl Sessions for NearSessions {
    async fn find(&self, session: &str) -> Result<Option<Found>, SessionError> {
        let found = self.0.get(session).await.map_err(|error| {
            warn!(%error, "the session store did not answer a query");
            trouble(&error)
        })?;
        Ok(found.map(|found| Found {
            credentials: found.record.credentials.clone(),
            expires: found.record.expires,
            watch: Rc::new(SessionWatch {
                near: self.0.clone(),
                sid: session.into(),
                kept: found.kept,
            }),
        }))
    }
}

impl Watch for SessionWatch {
    fn holds(&self) -> bool {
        self.near.holds(&self.sid, &self.kept)
    }

    /// Holds the entry only while this is awaited, because the store is asked again for every held
    /// entry that is touched.
    fn outdated(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(async {
            if let Some(held) = self.near.hold(&self.sid, &self.kept) {
                held.fired().await;
            }
        })
    }
}

fn trouble(error: &StoreError) -> SessionError {
    if error.is_outage() {
        SessionError::Down
    } else {
        SessionError::Unreadable
    }
}
