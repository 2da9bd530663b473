//! Limits the exchanges that one client, and one session, may have at once, over all threads.
//!
//! They are counted in a table of fixed size (a count–min sketch) that threads share without a
//! lock. Each client has one place in each half, chosen by a keyed hash. The smaller of the two
//! counts is taken; it is too high only if others share both places.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::config::Limits;
use crate::judge::original_client::network;
use crate::record::Limit;

/// The number of places in each half.
const PLACES: usize = 1 << 15;

#[derive(Debug)]
pub(crate) struct Concurrency {
    hashed: RandomState,
    halves: [Box<[AtomicU32]>; 2],
}

/// The places of a client or a session: one in each half.
#[derive(Debug, Clone, Copy)]
struct Places([usize; 2]);

/// Counts one exchange for its client and its session until it is dropped.
#[derive(Debug)]
pub(crate) struct Share<'a> {
    of: &'a Concurrency,
    held: [Option<Places>; 2],
}

impl Default for Concurrency {
    fn default() -> Self {
        let half = || (0..PLACES).map(|_| AtomicU32::new(0)).collect();
        Self {
            hashed: RandomState::new(),
            halves: [half(), half()],
        }
    }
}

impl Concurrency {
    /// Counts an exchange, or returns the limit that it would exceed. `None` for a client or a
    /// session means no limit.
    pub(crate) fn begin(
        &self,
        client: Option<IpAddr>,
        session: Option<&str>,
        limits: &Limits,
    ) -> Result<Share<'_>, Limit> {
        let mut share = Share {
            of: self,
            held: [None; 2],
        };
        let client = client.map(|client| self.hashed.hash_one(network(client)));
        let session = session.map(|session| self.hashed.hash_one((0_u8, session)));
        let bounds = [
            (
                client,
                limits.exchanges_per_client,
                Limit::ExchangesPerClient,
            ),
            (
                session,
                limits.exchanges_per_session,
                Limit::ExchangesPerSession,
            ),
        ];
        for (held, (hash, most, limit)) in share.held.iter_mut().zip(bounds) {
            if let Some(hash) = hash.filter(|_| most > 0) {
                let places = Places([hash as usize % PLACES, (hash >> 32) as usize % PLACES]);
                self.add(places, most).ok_or(limit)?;
                *held = Some(places);
            }
        }
        Ok(share)
    }

    fn add(&self, places: Places, most: usize) -> Option<()> {
        let before = self
            .counters(places)
            .map(|count| count.fetch_add(1, Relaxed));
        if before.min().is_some_and(|count| count as usize >= most) {
            self.remove(places);
            return None;
        }
        Some(())
    }

    fn remove(&self, places: Places) {
        self.counters(places).for_each(|count| {
            count.fetch_sub(1, Relaxed);
        });
    }

    fn counters(&self, places: Places) -> impl Iterator<Item = &AtomicU32> {
        let halves = self.halves.iter().zip(places.0);
        halves.filter_map(|(half, place)| half.get(place))
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        for places in self.held.into_iter().flatten() {
            self.of.remove(places);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_and_each_session_has_its_bound() {
        let all = Concurrency::default();
        let limits = Limits {
            exchanges_per_client: 3,
            exchanges_per_session: 2,
            ..Limits::default()
        };
        let begin = |client: &str, session| all.begin(client.parse().ok(), session, &limits);
        let first = begin("192.0.2.1", Some("a")).unwrap();
        let _second = begin("192.0.2.2", Some("a")).unwrap();
        let refused = begin("192.0.2.3", Some("a")).unwrap_err();
        assert_eq!(refused, Limit::ExchangesPerSession);
        let _others = [(); 2].map(|()| begin("::ffff:192.0.2.1", None).unwrap());
        let refused = begin("192.0.2.1", Some("b")).unwrap_err();
        assert_eq!(refused, Limit::ExchangesPerClient);
        drop(first);
        drop(begin("192.0.2.1", Some("a")).unwrap());
        drop(begin("192.0.2.1", Some("a")).unwrap());
    }

    fn is_empty(all: &Concurrency) -> bool {
        let mut counts = all.halves.iter().flat_map(|half| half.iter());
        counts.all(|count| count.load(Relaxed) == 0)
    }

    #[test]
    fn what_has_ended_is_forgotten() {
        let all = Concurrency::default();
        let limits = Limits {
            exchanges_per_session: 1,
            ..Limits::default()
        };
        let client = "2001:db8::1".parse().ok();
        let share = all.begin(client, Some("a"), &limits).unwrap();
        // An exchange that one limit refuses does not count towards the other.
        let neighbour = "2001:db8::2".parse().ok();
        assert!(all.begin(neighbour, Some("a"), &limits).is_err());
        drop(share);
        assert!(is_empty(&all));
        let unbounded = Limits {
            exchanges_per_client: 0,
            exchanges_per_session: 0,
            ..limits
        };
        let _share = all.begin(client, Some("a"), &unbounded).unwrap();
        assert!(is_empty(&all));
    }
}
