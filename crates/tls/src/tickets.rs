//! What the client remembers of earlier handshakes, counted, and what of it can be kept for later processes.

mod shelf;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use rustls::NamedGroup;
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::pki_types::{CertificateDer, ServerName};

use crate::keepsake::{Keepsake, seconds};
use crate::notes;
use shelf::Shelf;

/// As many servers as the shelf holds: the library counts eight tickets for each.
const REMEMBERED: usize = shelf::MOST_SERVERS * 8;

/// A session memory that tells how many tickets came.
#[derive(Debug)]
pub struct Tickets {
    /// For TLS 1.2, and for the groups that servers took.
    inner: ClientSessionMemoryCache,
    /// For TLS 1.3.
    shelf: Arc<Mutex<Shelf>>,
    quic: bool,
    received: AtomicU32,
    shown: AtomicBool,
}

impl Tickets {
    pub(crate) fn new(quic: bool) -> Arc<Self> {
        Arc::new(Self {
            inner: ClientSessionMemoryCache::new(REMEMBERED),
            shelf: Arc::default(),
            quic,
            received: AtomicU32::new(0),
            shown: AtomicBool::new(false),
        })
    }

    /// Was one handed out to be shown to a server since the last call?
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

    /// Takes out what can be kept, the oldest first: each session is used once, here or elsewhere.
    pub(crate) fn take_keepsakes(&self, name: &ServerName<'_>) -> Vec<Keepsake> {
        lock(&self.shelf).take_keepsakes(name)
    }

    /// Puts a session in, as if it had been received. The group that a server took meanwhile is better known.
    pub(crate) fn plant(
        &self,
        name: ServerName<'static>,
        value: Tls13ClientSessionValue,
        keepsake: Keepsake,
    ) {
        if keepsake.group != 0 && self.inner.kx_hint(&name).is_none() {
            self.inner.set_kx_hint(name.clone(), keepsake.group.into());
        }
        lock(&self.shelf).plant(name, value, keepsake);
    }

    /// The session as far as it is known before the server's chain is.
    fn draft(
        &self,
        name: &ServerName<'static>,
        value: &Tls13ClientSessionValue,
    ) -> Option<Keepsake> {
        let (ticket, secret) = notes::take_session()?;
        let own = ticket.early_data() == value.max_early_data_size() && ticket.lifetime() > 0;
        own.then(|| Keepsake {
            quic: self.quic,
            name: name.to_str().into_owned(),
            suite: value.suite().common.suite.into(),
            group: self.inner.kx_hint(name).map_or(0, u16::from),
            received: seconds(SystemTime::now()),
            bond: [0; 32],
            secret,
            ticket,
            quic_parameters: value.quic_params(),
            chain: Arc::new([]),
        })
    }
}

/// A keepsake on its way to the shelf where its session already stands.
pub(crate) struct Draft {
    shelf: Arc<Mutex<Shelf>>,
    name: ServerName<'static>,
    number: u64,
    keepsake: Keepsake,
}

impl Draft {
    pub(crate) fn complete(mut self, chain: Arc<[CertificateDer<'static>]>) {
        self.keepsake.chain = chain;
        if self.keepsake.check_form().is_ok() {
            lock(&self.shelf).complete(&self.name, self.number, self.keepsake);
        }
    }
}

fn lock(shelf: &Mutex<Shelf>) -> MutexGuard<'_, Shelf> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
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
        let keepsake = self.draft(&server_name, &value);
        let number = lock(&self.shelf).insert(server_name.clone(), value);
        if let Some(keepsake) = keepsake {
            notes::draft(Draft {
                shelf: self.shelf.clone(),
                name: server_name,
                number,
                keepsake,
            });
        }
    }

    fn take_tls13_ticket(
        &self,
        server_name: &ServerName<'static>,
    ) -> Option<Tls13ClientSessionValue> {
        self.show(lock(&self.shelf).take(server_name, SystemTime::now()))
    }
}
