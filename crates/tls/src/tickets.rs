//! What the client remembers of earlier handshakes, counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::pki_types::ServerName;
use rustls::{NamedGroup, client};

/// A session memory that tells how many tickets came.
#[derive(Debug)]
pub struct Tickets {
    inner: ClientSessionMemoryCache,
    received: AtomicU32,
    shown: AtomicBool,
}

impl Tickets {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: ClientSessionMemoryCache::new(64),
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
        self.inner.insert_tls13_ticket(server_name, value);
    }

    fn take_tls13_ticket(
        &self,
        server_name: &ServerName<'static>,
    ) -> Option<client::Tls13ClientSessionValue> {
        self.show(self.inner.take_tls13_ticket(server_name))
    }
}
