//! Tickets that need no memory on the server: each is a session, encrypted with a key derived from
//! the seed and the hour, so every process with the same seed can open it. A key seals for one
//! epoch and opens for three, because clocks differ and tickets outlive an epoch.
//!
//! A ticket can be used more than once, so it carries no early data (RFC 8446 §8.1); rustls ensures
//! that.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::rand;
use roundtrip_model::WallClock;
use rustls::server::ProducesTickets;

use super::Seed;
use crate::GateError;

/// RFC 8446 §4.6.1: the longest lifetime of a ticket.
const MAX_LIFETIME: Duration = Duration::from_hours(7 * 24);
/// The keys of this epoch, the one before and the next.
const MAX_KEYS: usize = 3;
const NUMBER_LENGTH: usize = size_of::<u64>();

pub(super) struct Tickets {
    seed: Arc<Seed>,
    epoch: Duration,
    clock: Arc<dyn WallClock + Send + Sync>,
    keys: Mutex<Vec<(u64, Arc<LessSafeKey>)>>,
}

impl Tickets {
    pub(super) fn new(
        seed: Arc<Seed>,
        epoch: Duration,
        clock: Arc<dyn WallClock + Send + Sync>,
    ) -> Self {
        Self {
            seed,
            epoch: epoch.clamp(Duration::from_secs(1), MAX_LIFETIME),
            clock,
            keys: Mutex::default(),
        }
    }

    /// How long data that is sealed now can be opened.
    pub(super) fn life(&self) -> Duration {
        self.epoch * 2
    }

    /// The number of the present epoch.
    pub(super) fn now(&self) -> u64 {
        let since = self.clock.now().duration_since(UNIX_EPOCH);
        since.unwrap_or_default().as_secs() / self.epoch.as_secs().max(1)
    }

    fn key(&self, epoch: u64) -> Result<Arc<LessSafeKey>, GateError> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, key)) = keys.iter().find(|(known, _)| *known == epoch) {
            return Ok(key.clone());
        }
        let bytes = self.seed.ticket_key(epoch)?;
        let key = UnboundKey::new(&AES_256_GCM, &*bytes).map_err(|_| GateError::Cryptography)?;
        let key = Arc::new(LessSafeKey::new(key));
        // Old keys are forgotten, so that what they sealed can never be opened.
        let now = self.now();
        keys.retain(|(known, _)| known.abs_diff(now) <= 1);
        keys.truncate(MAX_KEYS);
        keys.push((epoch, key.clone()));
        Ok(key)
    }

    /// epoch ‖ nonce ‖ ciphertext with its tag. The epoch is authenticated too, and so is the name,
    /// if there is one.
    pub(super) fn seal(&self, name: &[u8], plain: &[u8]) -> Result<Vec<u8>, GateError> {
        let epoch = self.now();
        let number = epoch.to_be_bytes();
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).map_err(|_| GateError::Cryptography)?;
        let mut sealed = plain.to_vec();
        let tag = self
            .key(epoch)?
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from([&number, name].concat()),
                &mut sealed,
            )
            .map_err(|_| GateError::Cryptography)?;
        Ok([&number, &nonce[..], &sealed, tag.as_ref()].concat())
    }

    /// Whether this was sealed in the present epoch.
    pub(super) fn is_new(&self, ticket: &[u8]) -> bool {
        ticket.starts_with(&self.now().to_be_bytes())
    }

    pub(super) fn open(&self, name: &[u8], ticket: &[u8]) -> Option<Vec<u8>> {
        let (number, rest) = ticket.split_first_chunk::<NUMBER_LENGTH>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        let epoch = u64::from_be_bytes(*number);
        let number = number.as_slice();
        if epoch.abs_diff(self.now()) > 1 {
            return None;
        }
        let mut bytes = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let key = self.key(epoch).ok()?;
        let opened = key.open_in_place(nonce, Aad::from([number, name].concat()), &mut bytes);
        let length = opened.ok()?.len();
        bytes.truncate(length);
        Some(bytes)
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").finish_non_exhaustive()
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    /// The lifetime is an epoch, because a ticket from the last moment of one can be opened for one
    /// more.
    fn lifetime(&self) -> u32 {
        u32::try_from(self.epoch.as_secs()).unwrap_or(u32::MAX)
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.seal(b"", plain).ok()
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.open(b"", cipher)
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const HOUR: u64 = 3600;

    fn tickets(seed: u8, hand: &Arc<AtomicU64>) -> Tickets {
        let hand = hand.clone();
        let clock = move || UNIX_EPOCH + Duration::from_secs(hand.load(Ordering::Relaxed));
        let seed = Arc::new(Seed::new(&[seed; 32]));
        Tickets::new(seed, Duration::from_secs(HOUR), Arc::new(clock))
    }

    #[test]
    fn the_same_seed_opens_and_no_other() {
        let now = Arc::new(AtomicU64::new(1000 * HOUR));
        let (one, same, other) = (tickets(1, &now), tickets(1, &now), tickets(2, &now));
        let ticket = one.encrypt(b"session").unwrap();
        assert_eq!(same.decrypt(&ticket).as_deref(), Some(&b"session"[..]));
        assert_eq!(other.decrypt(&ticket), None);
        assert_ne!(one.encrypt(b"session").unwrap(), ticket);
        for at in 0..ticket.len() {
            let mut spoilt = ticket.clone();
            spoilt[at] ^= 1;
            assert_eq!(one.decrypt(&spoilt), None, "{at}");
            assert_eq!(one.decrypt(&ticket[..at]), None, "{at}");
        }
    }

    #[test]
    fn a_ticket_opens_in_its_epoch_in_the_next_and_where_clocks_are_behind() {
        let now = Arc::new(AtomicU64::new(1000 * HOUR));
        let tickets = tickets(1, &now);
        let ticket = tickets.encrypt(b"session").unwrap();
        for (epoch, opens) in [
            (1000, true),
            (1001, true),
            (1002, false),
            (999, true),
            (998, false),
        ] {
            now.store(epoch * HOUR, Ordering::Relaxed);
            assert_eq!(tickets.decrypt(&ticket).is_some(), opens, "{epoch}");
            assert!(tickets.keys.lock().unwrap().len() <= MAX_KEYS);
        }
        assert_eq!(u64::from(tickets.lifetime()), HOUR);
    }
}
