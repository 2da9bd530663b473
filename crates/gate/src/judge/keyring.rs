//! Keys that change while gate runs: a JWK Set in a file or at a URL is read again periodically and
//! makes new rules, which each thread's guard follows. If it cannot be read, the old rules stay.
//!
//! Rules are published only if the set has changed, because a guard that adopts new rules forgets
//! what it has verified. Keys in the configuration itself are read once; `guard` decides what a key
//! may be used for.

mod fetch;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::{debug, info, warn};

use crate::config::{Config, Jwks};
pub use crate::error::FetchError;
use crate::judge::configured;
use crate::judge::guard::{FetchedKeySet, Refresh, Rules};
use crate::{GateError, Secret};
pub(super) use fetch::{JwksSource, trusted_pool, trusted_pool_within};

/// The interval after a failure, unless the set is read more often anyway.
const RETRY_INTERVAL: Duration = Duration::from_secs(15);
/// The shortest time between two requests for one URL.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

pub struct Keyring {
    /// The rules with the configuration's own keys.
    base: Rules,
    set: Option<WatchedKeySet>,
    rules: watch::Sender<Arc<Rules>>,
}

struct WatchedKeySet {
    from: Jwks,
    source: Option<JwksSource>,
    /// A digest of the set's last content.
    seen: Cell<Option<[u8; 32]>>,
}

/// The result of reading the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySetUpdate {
    /// Keys of the set only.
    pub keys: usize,
    pub changed: bool,
}

impl Keyring {
    /// Reads the files. A set at a URL is fetched later; until then its keys are missing.
    pub fn open(config: &Config) -> Result<Self, GateError> {
        let mut own = config.clone();
        if let Some(jwks) = &mut own.token.jwks {
            jwks.file = None;
        }
        let set = config
            .token
            .jwks
            .clone()
            .map(WatchedKeySet::new)
            .transpose()?;
        let base = Rules {
            awaits_keys: set.as_ref().is_some_and(|set| set.source.is_some()),
            refresh: set.as_ref().map(|_| Refresh::default()),
            ..configured::rules(&own)?
        };
        let keyring = Self {
            rules: watch::Sender::new(Arc::new(base.clone())),
            base,
            set,
        };
        if let Some(set) = keyring.set.as_ref().filter(|set| set.source.is_none()) {
            keyring.take(set, None)?;
        }
        Ok(keyring)
    }

    /// Opens the keyring again for a reload: a set that was fetched is kept if its URL is
    /// unchanged.
    pub fn reopen(config: &Config, before: &Rules) -> Result<Self, GateError> {
        let keyring = Self::open(config)?;
        if let (Some(set), Some(fetched)) = (&keyring.set, &before.fetched)
            && set.from.url.as_ref() == Some(&fetched.url)
        {
            // If it is no longer acceptable, it is fetched as if for the first time.
            let _ = keyring.take(set, Some(&fetched.json));
        }
        Ok(keyring)
    }

    /// The rules, for each thread's [`Guard`](crate::judge::guard::Guard::following).
    pub fn rules(&self) -> watch::Receiver<Arc<Rules>> {
        self.rules.subscribe()
    }

    /// Whether the rules may ever change.
    pub fn changes(&self) -> bool {
        self.set.is_some()
    }

    /// Reads the set now. On failure the rules stay as they were.
    pub async fn refresh(&self) -> Result<KeySetUpdate, GateError> {
        let Some(set) = &self.set else {
            return Ok(KeySetUpdate {
                keys: 0,
                changed: false,
            });
        };
        let fetched = match &set.source {
            Some(source) => Some(source.fetch().await?),
            None => None,
        };
        self.take(set, fetched.as_deref())
    }

    /// Reads the set periodically, the first time at once, and earlier if a token names an unknown
    /// key; `told` gets each result.
    pub async fn run(&self, mut told: impl FnMut(&Result<KeySetUpdate, GateError>)) {
        let Some(set) = &self.set else {
            return std::future::pending().await;
        };
        let every = set.from.every.0.max(MIN_INTERVAL);
        loop {
            let read = self.refresh().await;
            match &read {
                Ok(read) if read.changed => info!(keys = read.keys, "the JWK Set has other keys"),
                Ok(read) => debug!(keys = read.keys, "read the JWK Set"),
                Err(error) => warn!(%error, "the JWK Set cannot be read"),
            }
            told(&read);
            let pause = if read.is_ok() {
                every
            } else {
                every.min(RETRY_INTERVAL)
            };
            let wanted = async {
                match &self.base.refresh {
                    Some(refresh) => {
                        refresh.done(set.from.unknown_kid.0);
                        refresh.asked().await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = wanted => {}
            }
        }
    }

    fn take(&self, set: &WatchedKeySet, fetched: Option<&[u8]>) -> Result<KeySetUpdate, GateError> {
        let mut keys = self.base.keys.clone();
        let own = keys.len();
        let mut said = fetched.unwrap_or_default().to_vec();
        if let Some(file) = &set.from.file {
            keys.add_jwks_file(file)?;
            said.extend_from_slice(Secret::read(file)?.0.expose());
        }
        let mut kept = None;
        if let (Some(json), Some(url)) = (fetched, &set.from.url) {
            keys.add_public_jwks(json, url)?;
            let (url, json) = (url.clone(), json.to_vec());
            kept = Some(Arc::new(FetchedKeySet { url, json }));
        }
        let read = |keys, changed| Ok(KeySetUpdate { keys, changed });
        let added = keys.len() - own;
        let now = digest(&SHA256, &said).as_ref().try_into().ok();
        if set.seen.replace(now) == now {
            return read(added, false);
        }
        let rules = Rules {
            keys,
            fetched: kept,
            awaits_keys: false,
            ..self.base.clone()
        };
        self.rules.send_replace(Arc::new(rules));
        read(added, true)
    }
}

impl WatchedKeySet {
    fn new(from: Jwks) -> Result<Self, GateError> {
        let source = match &from.url {
            Some(url) => Some(JwksSource::new(url, from.ca.as_deref())?),
            None => None,
        };
        Ok(Self {
            from,
            source,
            seen: Cell::new(None),
        })
    }
}

#[cfg(test)]
mod tests;
