//! What all origins of a pool stand on: settings, trust and tickets, names, the clock, and the count of what happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use roundtrip_http::Tokens;
use roundtrip_model::{Moment, Origin, Recorder};
use roundtrip_tls::{Client, TlsError};

use super::Settings;
use super::names::Names;

pub(super) struct Ground {
    pub(super) settings: Settings,
    client: Arc<Client>,
    pub(super) tokens: Tokens,
    pub(super) names: Names,
    pub(super) counters: Counters,
}

/// What a pool has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Connections that were opened, and those that could not be.
    pub connections: u64,
    pub failed_connections: u64,
    /// Requests that left, and answers that came to their end.
    pub requests: u64,
    pub answers: u64,
    /// Asks that were answered by what another one was fetching already.
    pub coalesced: u64,
    /// Requests that were sent again: because their connection ended, because the server turned them away, or because
    /// it did not take early data or answered it with 425.
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

impl Ground {
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

    /// Trust, tickets, and for one origin perhaps a certificate of ours.
    pub(super) fn client(&self, origin: &Origin) -> &Client {
        let own = self.settings.own.as_ref();
        let own = own.filter(|(seen_by, _)| seen_by == origin);
        own.map_or(&self.client, |(_, client)| client)
    }

    /// By the pool's clock.
    pub(super) fn now(&self) -> Moment {
        self.settings.clock.now()
    }

    pub(super) fn recorder(&self) -> Recorder {
        Recorder::new(self.settings.clock.clone())
    }
}

impl Counters {
    pub(super) fn tally(&self) -> Tally {
        Tally {
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
