//! Resolves hosts to addresses: one lookup at a time for each host, kept as long as the answer
//! allows.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use roundtrip_model::{Answer, Http, NameFacts, Origin};
use roundtrip_net::{ResolveError, Resolver, Wanted};
use tokio::time::Instant;

use super::{Family, OriginKnowledge, PoolErrorKind, Settings};

/// How long addresses without a TTL (from the hosts file) are used.
const DEFAULT_LIFE: Duration = Duration::from_mins(1);
const MAX_LIFE: Duration = Duration::from_hours(24);
/// The time to wait for an HTTPS record once addresses are known: it saves one round trip at most.
const HTTPS_GRACE: Duration = Duration::from_millis(10);
/// The largest number of hosts that are kept.
const MAX_HOSTS: usize = 4096;

pub(super) struct Names {
    /// `None` after an error in the resolver's configuration, which matters only to requests that
    /// need a name server.
    resolver: Option<Resolver>,
    family: Family,
    https: bool,
    found: Mutex<HashMap<(String, u16), Slot>>,
}

/// The task that holds the lock does the lookup; the others wait for its result.
type Slot = Arc<tokio::sync::Mutex<Option<Found>>>;

struct Found {
    facts: NameFacts,
    until: Instant,
}

impl Names {
    pub(super) fn new(settings: &Settings) -> Self {
        let names = Self {
            resolver: Resolver::system()
                .ok()
                .map(|resolver| resolver.asking(&settings.name_servers)),
            family: settings.family,
            https: matches!(settings.strategy.http, Http::Auto | Http::H3),
            found: Mutex::default(),
        };
        settings.known.iter().for_each(|told| names.recall(told));
        names
    }

    fn recall(&self, told: &OriginKnowledge) {
        let Some(ttl) = told.ttl.filter(|_| !told.addresses.is_empty()) else {
            return;
        };
        let Origin { host, port, .. } = &told.origin;
        let facts = NameFacts::new(host, Answer::Given, told.addresses.clone());
        let until = Instant::now() + ttl.min(MAX_LIFE);
        if let Ok(mut found) = self.slot(host, *port).try_lock() {
            *found = Some(Found { facts, until });
        }
    }

    /// The known addresses, and how long they can be used.
    pub(super) fn tell(&self, told: &mut OriginKnowledge) {
        let slot = self.slot(&told.origin.host, told.origin.port);
        let Ok(found) = slot.try_lock() else {
            return;
        };
        let now = Instant::now();
        // Addresses from files are not stored: the next run has the same files.
        let lasting = |found: &&Found| found.until > now && found.facts.ttl.is_some();
        if let Some(found) = found.as_ref().filter(lasting) {
            told.addresses.clone_from(&found.facts.addresses);
            told.ttl = Some(found.until - now);
        }
    }

    pub(super) async fn look_up(
        &self,
        origin: &Origin,
        settings: &Settings,
    ) -> Result<NameFacts, PoolErrorKind> {
        let (host, port) = (origin.host.as_str(), origin.port);
        let given = settings.overrides.iter().find(|o| o.fits(host, port));
        if let Some(given) = given {
            let facts = NameFacts::new(host, Answer::Given, given.addresses.clone());
            return self.admitted(facts);
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return self.admitted(NameFacts::new(host, Answer::Literal, vec![address]));
        }
        let slot = self.slot(host, port);
        let mut found = slot.lock().await;
        if let Some(found) = found.as_ref().filter(|f| f.until > Instant::now()) {
            return self.admitted(found.facts.clone());
        }
        let wanted = Wanted {
            v4: self.family != Family::V6,
            v6: self.family != Family::V4,
            https: (origin.is_secure() && self.https).then_some((port, HTTPS_GRACE)),
        };
        let resolver = self.resolver.as_ref().ok_or(ResolveError::NoServer)?;
        let facts = self.admitted(resolver.look_up(host, wanted).await?)?;
        let ttl = facts.ttl.map(|s| Duration::from_secs(s.into()));
        let until = Instant::now() + ttl.unwrap_or(DEFAULT_LIFE).min(MAX_LIFE);
        *found = Some(Found {
            facts: facts.clone(),
            until,
        });
        Ok(facts)
    }

    /// Called when no address could be reached: the next request looks the name up again.
    pub(super) fn doubt(&self, origin: &Origin) {
        if let Ok(mut found) = self.slot(&origin.host, origin.port).try_lock() {
            *found = None;
        }
    }

    fn admitted(&self, mut facts: NameFacts) -> Result<NameFacts, PoolErrorKind> {
        facts.addresses.retain(|a| self.family.admits(*a));
        if facts.addresses.is_empty() {
            return Err(PoolErrorKind::NoAddressOfFamily {
                host: facts.host,
                family: self.family.shown(),
            });
        }
        Ok(facts)
    }

    fn slot(&self, host: &str, port: u16) -> Slot {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() >= MAX_HOSTS {
            // Entries in use stay.
            found.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        found.entry((host.to_owned(), port)).or_default().clone()
    }
}
