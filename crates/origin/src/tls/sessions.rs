//! The server's session storage, and its configurable faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::UnixTime;
use rustls::server::{ProducesTickets, StoresServerSessions};
use rustls::time_provider::TimeProvider;

use crate::OriginCounters;

/// Issues tickets that it later rejects.
#[derive(Debug)]
pub(super) struct DiscardingStore;

impl StoresServerSessions for DiscardingStore {
    fn put(&self, _key: Vec<u8>, _value: Vec<u8>) -> bool {
        true
    }

    fn get(&self, _key: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn take(&self, _key: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn can_cache(&self) -> bool {
        true
    }
}

/// A clock that advances two minutes each time it is read. According to it, no ticket has the age
/// that its client states, so sessions are resumed but their early data is rejected (RFC 8446,
/// section 8.3).
#[derive(Debug, Default)]
pub(super) struct DriftingClock(AtomicU64);

impl TimeProvider for DriftingClock {
    fn current_time(&self) -> Option<UnixTime> {
        let looks = self.0.fetch_add(1, Ordering::Relaxed);
        let ahead = Duration::from_mins(2).checked_mul(u32::try_from(looks).ok()?)?;
        let now = Duration::from_secs(UnixTime::now().as_secs());
        Some(UnixTime::since_unix_epoch(now.checked_add(ahead)?))
    }
}

/// Another session storage, whose successful lookups are counted.
#[derive(Debug, Clone)]
pub(super) struct CountedSessions {
    storage: Arc<dyn StoresServerSessions>,
    ticketer: Arc<dyn ProducesTickets>,
    counters: Arc<OriginCounters>,
}

impl CountedSessions {
    pub(super) fn new(config: &ServerConfig, counters: Arc<OriginCounters>) -> Self {
        Self {
            storage: config.session_storage.clone(),
            ticketer: config.ticketer.clone(),
            counters,
        }
    }

    fn count(&self, found: Option<Vec<u8>>) -> Option<Vec<u8>> {
        if found.is_some() {
            self.counters.quic_resumed.increment();
        }
        found
    }
}

impl StoresServerSessions for CountedSessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.storage.put(key, value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.count(self.storage.get(key))
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.count(self.storage.take(key))
    }

    fn can_cache(&self) -> bool {
        self.storage.can_cache()
    }
}

impl ProducesTickets for CountedSessions {
    fn enabled(&self) -> bool {
        self.ticketer.enabled()
    }

    fn lifetime(&self) -> u32 {
        self.ticketer.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.ticketer.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.count(self.ticketer.decrypt(cipher))
    }
}
