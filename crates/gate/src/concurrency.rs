//! How many exchanges one client, and one session, may have at once on one thread: connections to backends are each
//! thread's own, and nobody is to have all of them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use crate::census::network;
use crate::config::Limits;
use crate::record::Limit;

/// Counted by the hashes of addresses and of sessions' names: two that share one, of 2⁶⁴, share their bound.
#[derive(Debug, Default)]
pub(crate) struct Concurrency {
    hashed: RandomState,
    running: RefCell<HashMap<u64, usize>>,
}

/// An exchange's part in what its client and its session may have, for as long as it is held.
#[derive(Debug)]
pub(crate) struct Share<'a> {
    of: &'a Concurrency,
    keys: [Option<u64>; 2],
}

impl Concurrency {
    /// Or the bound that is met. No client, or no session: it has none.
    pub(crate) fn begin(
        &self,
        client: Option<IpAddr>,
        session: Option<&str>,
        limits: &Limits,
    ) -> Result<Share<'_>, Limit> {
        let mut share = Share {
            of: self,
            keys: [None; 2],
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
        for (place, (key, most, limit)) in share.keys.iter_mut().zip(bounds) {
            if let Some(key) = key.filter(|_| most > 0) {
                self.add(key, most).ok_or(limit)?;
                *place = Some(key);
            }
        }
        Ok(share)
    }

    fn add(&self, key: u64, most: usize) -> Option<()> {
        let mut running = self.running.borrow_mut();
        let count = running.entry(key).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(())
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut running = self.of.running.borrow_mut();
        for key in self.keys.into_iter().flatten() {
            if let Some(count) = running.get_mut(&key) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    running.remove(&key);
                }
            }
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

    #[test]
    fn what_has_ended_is_forgotten() {
        let all = Concurrency::default();
        let limits = Limits {
            exchanges_per_session: 1,
            ..Limits::default()
        };
        let client = "2001:db8::1".parse().ok();
        let share = all.begin(client, Some("a"), &limits).unwrap();
        // What is refused by one bound is not counted by the other.
        let neighbour = "2001:db8::2".parse().ok();
        assert!(all.begin(neighbour, Some("a"), &limits).is_err());
        drop(share);
        assert!(all.running.borrow().is_empty());
        let unbounded = Limits {
            exchanges_per_client: 0,
            exchanges_per_session: 0,
            ..limits
        };
        let _share = all.begin(client, Some("a"), &unbounded).unwrap();
        assert!(all.running.borrow().is_empty());
    }
}
