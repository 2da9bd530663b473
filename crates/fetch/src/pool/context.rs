//! The state that all origins of a pool share: settings, trust and tickets, names, the clock, and
//! counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use roundtrip_http::Tokens;
use roundtrip_model::{Moment, Origin, Recorder};
use roundtrip_tls::{Client, TlsError};

use super::Settings;
use super::names::Names;

pub(super) struct PoolContext {
    pub(super) settings: Settings,
    client: Arc<Client>,
    pub(super) tokens: Tokens,
    pub(super) names: Names,
    pub(super) counters: Counters,
}

/// The counters of a pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Connections that were opened, and connections that could not be opened.
    pub connections: u64,
    pub failed_connections: u64,
    /// Requests that were sent, and answers that were received completely.
    pub requests: u64,
    pub answers: u64,
    /// Requests that got the answer to an equal one in flight.
    pub coalesced: u64,
    /// Requests that were repeated because their connection ended, because the server refused the
    /// stream, or because it rejected early data or answered it with 425.
    pub resent: u64,
    pub turned_away: u64,
    pub early_refused: u64,
    pub too_early: u64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) connections: AtomicU64,
    pub(super) failed_connections: AtomicU64,
    pub(super) requests: AtomicU64,
    pub(super) answers: AtomicU64,
    pub(super) coalesced: AtomicU64,
    pub(super) resent: AtomicU64,
    pub(super) turned_away: AtomicU64,
    pub(super) early_refused: AtomicU64,
    pub(super) too_early: AtomicU64,
}

impl PoolContext {
    pub(super) fn new(settings: Settings) -> Result<Self, TlsError> {
        let client = match &settings.tls {
            Some(client) => client.clone(),
            None => {
                let identity = settings.identity.as_ref();
                Arc::new(Client::new(settings.roots.clone(), identity)?)
            }
        };
        Ok(Self {
            client,
            tokens: settings.tokens.clone(),
            names: Names::new(&settings),
            counters: Counters::default(),
            settings,
        })
    }

    /// The TLS client with trust and tickets; for one origin it can have a client certificate.
    pub(super) fn client(&self, origin: &Origin) -> &Client {
        let own = self.settings.own.as_ref();
        let own = own.filter(|(seen_by, _)| seen_by == origin);
        own.map_or(&self.client, |(_, client)| client)
    }

    /// The current time by the pool's clock.
    pub(super) fn now(&self) -> Moment {
        self.settings.clock.now()
    }

    pub(super) fn recorder(&self) -> Recorder {
        Recorder::new(self.settings.clock.clone())
    }
}

impl Counters {
    pub(super) fn tally(&self) -> PoolStats {
        PoolStats {
            connections: self.connections.load(Relaxed),
            failed_connections: self.failed_connections.load(Relaxed),
            requests: self.requests.load(Relaxed),
            answers: self.answers.load(Relaxed),
            coalesced: self.coalesced.load(Relaxed),
            resent: self.resent.load(Relaxed),
            turned_away: self.turned_away.load(Relaxed),
            early_refused: self.early_refused.load(Relaxed),
            too_early: self.too_early.load(Relaxed),
        }
    }
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
