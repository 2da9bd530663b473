//! Limits the exchanges that one client, and one session, may have at once, and the memory that
//! their buffered bodies use, over all threads.
//!
//! They are counted in tables of fixed size (count–min sketches) that threads share without a lock.
//! Each client has one place in each half, chosen by a keyed hash. The smaller of the two counts is
//! taken; it is too high only if others share both places.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::config::Limits;
use crate::judge::original_client::network;
use crate::record::Limit;

/// The number of places in each half.
const PLACES: usize = 1 << 15;
/// The number of places in each half for buffered bodies, which fewer clients have.
const BUFFER_PLACES: usize = 1 << 12;
/// The unit in which buffered bodies are counted, in bytes.
const UNIT: u64 = 1024;

#[derive(Debug)]
pub(crate) struct Concurrency {
    hashed: RandomState,
    exchanges: Sketch,
    buffered: Sketch,
    /// The units that the bodies of all clients use.
    buffered_in_all: AtomicU64,
}

#[derive(Debug)]
struct Sketch([Box<[AtomicU32]>; 2]);

/// Counts one exchange for its client and its session until it is dropped.
#[derive(Debug)]
pub(crate) struct Share<'a> {
    of: &'a Concurrency,
    /// The hashes of the client and of the session, unless they have no limit.
    held: [Option<u64>; 2],
    client: Option<u64>,
    /// The units that the exchange's body uses.
    buffered: Cell<u32>,
}

impl Default for Concurrency {
    fn default() -> Self {
        Self {
            hashed: RandomState::new(),
            exchanges: Sketch::new(PLACES),
            buffered: Sketch::new(BUFFER_PLACES),
            buffered_in_all: AtomicU64::new(0),
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
        let client = client.map(|client| self.hashed.hash_one(network(client)));
        let session = session.map(|session| self.hashed.hash_one((0_u8, session)));
        let mut share = Share {
            of: self,
            held: [None; 2],
            client,
            buffered: Cell::new(0),
        };
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
                let added = self.exchanges.add(hash, 1, most as u64);
                *held = Some(added.then_some(hash).ok_or(limit)?);
            }
        }
        Ok(share)
    }
}

impl Share<'_> {
    /// Counts the memory of a body, which takes this many bytes now, or returns the limit that it
    /// would exceed.
    pub(crate) fn buffer(&self, bytes: usize, limits: &Limits) -> Result<(), Limit> {
        let units = u32::try_from((bytes as u64).div_ceil(UNIT)).unwrap_or(u32::MAX);
        let more = units.saturating_sub(self.buffered.get());
        if more == 0 {
            self.release(self.buffered.get() - units);
            return Ok(());
        }
        let all = &self.of.buffered_in_all;
        let before = all.fetch_add(more.into(), Relaxed);
        let added = if before + u64::from(more) > limits.buffered.0 / UNIT {
            Err(Limit::Buffered)
        } else {
            let most = limits.buffered_per_client.0 / UNIT;
            let sketch = &self.of.buffered;
            let fits = self
                .client
                .is_none_or(|client| sketch.add(client, more, most));
            fits.then_some(()).ok_or(Limit::BufferedPerClient)
        };
        match added {
            Ok(()) => self.buffered.set(units),
            Err(_) => drop(all.fetch_sub(more.into(), Relaxed)),
        }
        added
    }

    fn release(&self, units: u32) {
        if units == 0 {
            return;
        }
        self.buffered.set(self.buffered.get() - units);
        let all = &self.of.buffered_in_all;
        all.fetch_sub(units.into(), Relaxed);
        if let Some(client) = self.client {
            self.of.buffered.remove(client, units);
        }
    }
}

impl Sketch {
    fn new(places: usize) -> Self {
        let half = || (0..places).map(|_| AtomicU32::new(0)).collect();
        Self([half(), half()])
    }

    /// Adds `count`, unless the total would then exceed `most`.
    fn add(&self, hash: u64, count: u32, most: u64) -> bool {
        let before = self
            .counters(hash)
            .map(|counter| counter.fetch_add(count, Relaxed));
        let fits = before
            .min()
            .is_none_or(|before| u64::from(before) + u64::from(count) <= most);
        if !fits {
            self.remove(hash, count);
        }
        fits
    }

    fn remove(&self, hash: u64, count: u32) {
        self.counters(hash).for_each(|counter| {
            counter.fetch_sub(count, Relaxed);
        });
    }

    fn counters(&self, hash: u64) -> impl Iterator<Item = &AtomicU32> {
        let halves = self.0.iter().zip([hash as usize, (hash >> 32) as usize]);
        halves.filter_map(|(half, place)| half.get(place % half.len()))
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        for hash in self.held.into_iter().flatten() {
            self.of.exchanges.remove(hash, 1);
        }
        self.release(self.buffered.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Bytes;

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
        let sketches = [&all.exchanges, &all.buffered];
        let halves = sketches.into_iter().flat_map(|sketch| &sketch.0);
        let mut counts = halves.flat_map(|half| half.iter());
        counts.all(|count| count.load(Relaxed) == 0) && all.buffered_in_all.load(Relaxed) == 0
    }

    #[test]
    fn exchanges_that_have_ended_are_forgotten() {
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

    #[test]
    fn bodies_are_bounded_for_each_client_and_in_all() {
        let all = Concurrency::default();
        let limits = Limits {
            buffered: Bytes(10 << 10),
            buffered_per_client: Bytes(6 << 10),
            ..Limits::default()
        };
        let begin = |client: &str| all.begin(client.parse().ok(), None, &limits).unwrap();
        let (first, second, other) = (begin("::1"), begin("::1"), begin("192.0.2.1"));
        assert_eq!(first.buffer(4096, &limits), Ok(()));
        assert_eq!(first.buffer(100, &limits), Ok(()));
        assert_eq!(second.buffer(5 << 10, &limits), Ok(()), "it was given back");
        assert_eq!(second.buffer(0, &limits), Ok(()));
        assert_eq!(first.buffer(4096, &limits), Ok(()));
        assert_eq!(second.buffer(2048, &limits), Ok(()));
        let refused = second.buffer(2049, &limits);
        assert_eq!(refused, Err(Limit::BufferedPerClient));
        assert_eq!(other.buffer(4096, &limits), Ok(()));
        assert_eq!(other.buffer(4097, &limits), Err(Limit::Buffered));
        drop(first);
        assert_eq!(other.buffer(6144, &limits), Ok(()));
        // An exchange without a named client counts only towards the total.
        let unnamed = all.begin(None, None, &limits).unwrap();
        assert_eq!(unnamed.buffer(2048, &limits), Ok(()));
        assert_eq!(unnamed.buffer(2049, &limits), Err(Limit::Buffered));
        drop((second, other, unnamed));
        assert!(is_empty(&all));
    }
}
