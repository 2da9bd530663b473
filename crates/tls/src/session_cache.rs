//! Sessions of TLS 1.3 by server, in the order in which they were received, each with the data to
//! store.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use rustls::client::Tls13ClientSessionValue;
use rustls::pki_types::{CertificateDer, ServerName};

use crate::stored_session::StoredSession;

/// The largest number of servers. The one that was first contacted is forgotten first.
pub(crate) const MAX_SERVERS: usize = 64;
/// The largest number of sessions of one server. The oldest is forgotten first.
const MAX_SESSIONS: usize = 8;

#[derive(Default)]
pub(crate) struct SessionCache {
    servers: VecDeque<(ServerName<'static>, VecDeque<CachedSession>)>,
    next: u64,
}

/// A session, and the data to store for it if that is known.
struct CachedSession {
    number: u64,
    received: SystemTime,
    value: Tls13ClientSessionValue,
    stored: Option<StoredSession>,
}

impl SessionCache {
    /// Inserts the newest session, and returns the number that identifies it.
    pub(crate) fn insert(
        &mut self,
        name: ServerName<'static>,
        value: Tls13ClientSessionValue,
        received: SystemTime,
    ) -> u64 {
        self.put(name, value, received, None, usize::MAX)
    }

    pub(crate) fn complete(&mut self, name: &ServerName<'_>, number: u64, stored: StoredSession) {
        let sessions = self.sessions(name);
        if let Some(session) = sessions.and_then(|s| s.iter_mut().find(|s| s.number == number)) {
            session.stored = Some(stored);
        }
    }

    /// Inserts a revived session in its place by age; if it is here already, replaces it.
    pub(crate) fn insert_revived(
        &mut self,
        name: ServerName<'static>,
        value: Tls13ClientSessionValue,
        stored: StoredSession,
    ) {
        let mut place = 0;
        if let Some(sessions) = self.sessions(&name) {
            let kept = |s: &CachedSession| s.stored.as_ref().map(|k| k.ticket.body().to_vec());
            sessions.retain(|s| kept(s).as_deref() != Some(stored.ticket.body()));
            let older = |s: &CachedSession| match &s.stored {
                Some(other) => other.received <= stored.received,
                None => false,
            };
            place = sessions.iter().take_while(|s| older(s)).count();
        }
        self.put(name, value, stored.received(), Some(stored), place);
    }

    /// Takes the newest session that has not expired, with the time at which it was received.
    pub(crate) fn take(
        &mut self,
        name: &ServerName<'_>,
        now: SystemTime,
    ) -> Option<(Tls13ClientSessionValue, SystemTime)> {
        let sessions = self.sessions(name)?;
        while let Some(session) = sessions.pop_back() {
            let stored = session.stored.as_ref();
            if stored.is_none_or(|k| k.check_time(now).is_ok()) {
                return Some((session.value, session.received));
            }
        }
        None
    }

    pub(crate) fn take_stored(&mut self, name: &ServerName<'_>) -> Vec<StoredSession> {
        let Some(sessions) = self.sessions(name) else {
            return Vec::new();
        };
        let (kept, rest): (VecDeque<_>, _) = sessions.drain(..).partition(|s| s.stored.is_some());
        *sessions = rest;
        kept.into_iter().filter_map(|s| s.stored).collect()
    }

    fn put(
        &mut self,
        name: ServerName<'static>,
        value: Tls13ClientSessionValue,
        received: SystemTime,
        stored: Option<StoredSession>,
        place: usize,
    ) -> u64 {
        self.next += 1;
        let session = CachedSession {
            number: self.next,
            received,
            value,
            stored,
        };
        match self.sessions(&name) {
            Some(sessions) => {
                sessions.insert(place.min(sessions.len()), session);
                if sessions.len() > MAX_SESSIONS {
                    sessions.pop_front();
                }
            }
            None => {
                if self.servers.len() >= MAX_SERVERS {
                    self.servers.pop_front();
                }
                self.servers.push_back((name, VecDeque::from([session])));
            }
        }
        self.next
    }

    fn sessions(&mut self, name: &ServerName<'_>) -> Option<&mut VecDeque<CachedSession>> {
        let mut servers = self.servers.iter_mut();
        servers.find(|(n, _)| n == name).map(|(_, s)| s)
    }
}

/// The data to store for a session that is in the cache already, without the server's chain.
pub(crate) struct PendingSession {
    cache: Arc<Mutex<SessionCache>>,
    name: ServerName<'static>,
    number: u64,
    stored: StoredSession,
}

impl PendingSession {
    pub(crate) fn new(
        cache: Arc<Mutex<SessionCache>>,
        name: ServerName<'static>,
        number: u64,
        stored: StoredSession,
    ) -> Self {
        Self {
            cache,
            name,
            number,
            stored,
        }
    }

    /// Adds the server's chain, and attaches the complete data to its session.
    pub(crate) fn complete(mut self, chain: Arc<[CertificateDer<'static>]>) {
        self.stored.chain = chain;
        if self.stored.check_form().is_ok() {
            lock(&self.cache).complete(&self.name, self.number, self.stored);
        }
    }
}

pub(crate) fn lock(cache: &Mutex<SessionCache>) -> MutexGuard<'_, SessionCache> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for SessionCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionCache")
            .field("servers", &self.servers.len())
            .finish_non_exhaustive()
    }
}
