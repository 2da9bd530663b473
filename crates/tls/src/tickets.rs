//! Stores and counts a client's sessions from earlier handshakes, and exports those that later
//! processes can use.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rustls::NamedGroup;
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::pki_types::ServerName;

use crate::intercept;
use crate::session_cache::{self, PendingSession, SessionCache, lock};
use crate::stored_session::{StoredSession, seconds};
use crate::ticket_clock;

/// Enough for the servers that the session cache holds: the library counts eight tickets for each.
const MAX_REMEMBERED: usize = session_cache::MAX_SERVERS * 8;

const ALMOST_A_SECOND: Duration = Duration::from_nanos(999_999_999);

/// A session memory that counts tickets.
#[derive(Debug)]
pub struct Tickets {
    /// The memory for TLS 1.2, and for the groups that servers selected.
    inner: ClientSessionMemoryCache,
    /// The memory for TLS 1.3.
    cache: Arc<Mutex<SessionCache>>,
    quic: bool,
    received: AtomicU32,
    shown: AtomicBool,
}

impl Tickets {
    pub(crate) fn new(quic: bool) -> Arc<Self> {
        Arc::new(Self {
            inner: ClientSessionMemoryCache::new(MAX_REMEMBERED),
            cache: Arc::default(),
            quic,
            received: AtomicU32::new(0),
            shown: AtomicBool::new(false),
        })
    }

    /// Whether a ticket was offered to a server since the last call.
    pub fn take_shown(&self) -> bool {
        self.shown.swap(false, Ordering::Relaxed)
    }

    fn show<T>(&self, found: Option<T>) -> Option<T> {
        self.shown.fetch_or(found.is_some(), Ordering::Relaxed);
        found
    }

    /// Tickets (or session ids) received so far.
    pub fn received(&self) -> u32 {
        self.received.load(Ordering::Relaxed)
    }

    /// Takes out the sessions that can be stored, the oldest first. Each is used once, by this
    /// process or by another.
    pub(crate) fn take_stored(&self, name: &ServerName<'_>) -> Vec<StoredSession> {
        lock(&self.cache).take_stored(name)
    }

    /// Inserts a revived session as if it had been received. Keeps a group that the server has
    /// selected meanwhile.
    pub(crate) fn insert_revived(
        &self,
        name: ServerName<'static>,
        value: Tls13ClientSessionValue,
        stored: StoredSession,
    ) {
        if stored.group != 0 && self.inner.kx_hint(&name).is_none() {
            self.inner.set_kx_hint(name.clone(), stored.group.into());
        }
        lock(&self.cache).insert_revived(name, value, stored);
    }

    /// The data to store, without the server's chain, which is not known yet.
    fn pending(
        &self,
        name: &ServerName<'static>,
        value: &Tls13ClientSessionValue,
        now: SystemTime,
    ) -> Option<StoredSession> {
        let (ticket, secret) = intercept::take_session()?;
        let own = ticket.early_data() == value.max_early_data_size() && ticket.lifetime() > 0;
        own.then(|| StoredSession {
            quic: self.quic,
            name: name.to_str().into_owned(),
            suite: value.suite().common.suite.into(),
            group: self.inner.kx_hint(name).map_or(0, u16::from),
            // Rounded up, because a server may refuse early data with a ticket that claims to be
            // older than it is.
            received: seconds(now + ALMOST_A_SECOND),
            trust_fingerprint: [0; 32],
            secret,
            ticket,
            quic_parameters: value.quic_params(),
            chain: Arc::new([]),
        })
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, server_name: ServerName<'static>, group: NamedGroup) {
        self.inner.set_kx_hint(server_name, group);
    }

    fn kx_hint(&self, server_name: &ServerName<'_>) -> Option<NamedGroup> {
        self.inner.kx_hint(server_name)
    }

    fn set_tls12_session(&self, server_name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.received.fetch_add(1, Ordering::Relaxed);
        self.inner.set_tls12_session(server_name, value);
    }

    fn tls12_session(&self, server_name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.show(self.inner.tls12_session(server_name))
    }

    fn remove_tls12_session(&self, server_name: &ServerName<'static>) {
        self.inner.remove_tls12_session(server_name);
    }

    fn insert_tls13_ticket(
        &self,
        server_name: ServerName<'static>,
        value: Tls13ClientSessionValue,
    ) {
        self.received.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now();
        let stored = self.pending(&server_name, &value, now);
        let number = lock(&self.cache).insert(server_name.clone(), value, now);
        if let Some(stored) = stored {
            intercept::on_session(PendingSession::new(
                self.cache.clone(),
                server_name,
                number,
                stored,
            ));
        }
    }

    fn take_tls13_ticket(
        &self,
        server_name: &ServerName<'static>,
    ) -> Option<Tls13ClientSessionValue> {
        let found = lock(&self.cache).take(server_name, SystemTime::now());
        let (value, received) = self.show(found)?;
        ticket_clock::on_taken(received);
        Some(value)
    }
}
