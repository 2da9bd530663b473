//! Bounds the single-use TLS sessions that a process stores. Anybody can perform handshakes, and
//! the store also has the sessions of users.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use crate::judge::original_client::network;

/// A network may take what is left, divided by this number, so that many networks get some.
const SHARE: usize = 64;

/// Shared by all threads.
#[derive(Debug)]
pub(super) struct SessionQuota {
    /// The largest number of sessions that are stored in one epoch. They live for two.
    most: usize,
    stored: Mutex<Stored>,
}

#[derive(Debug, Default)]
struct Stored {
    epoch: u64,
    all: usize,
    /// The number of sessions that are stored for each network.
    of: HashMap<IpAddr, usize>,
}

impl SessionQuota {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            stored: Mutex::default(),
        }
    }

    /// Counts sessions in this epoch for a client. Returns whether they may be stored.
    pub(super) fn take(&self, epoch: u64, client: IpAddr, wanted: usize) -> bool {
        // A panic leaves nothing half done, so a poisoned lock can be used.
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if stored.epoch != epoch {
            *stored = Stored {
                epoch,
                ..Stored::default()
            };
        }
        let most = self.most.saturating_sub(stored.all) / SHARE;
        let client = network(client);
        let after = stored.of.get(&client).copied().unwrap_or_default() + wanted;
        if after > most {
            return false;
        }
        stored.of.insert(client, after);
        stored.all += wanted;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_STORED: usize = 64 * 1024;

    fn fill(quota: &SessionQuota, client: IpAddr) -> usize {
        (0..MAX_STORED)
            .take_while(|_| quota.take(1, client, 1))
            .count()
    }

    #[test]
    fn many_networks_fill_the_quota_but_each_finds_some_left() {
        let quota = SessionQuota::new(MAX_STORED);
        let first = fill(&quota, [10, 0, 0, 0].into());
        assert!((1000..1024).contains(&first), "{first}");
        let all: usize = (1..=200)
            .map(|last| fill(&quota, [10, 0, 0, last].into()))
            .sum();
        assert!(first + all < MAX_STORED);
        let other: IpAddr = "2001:db8::1".parse().unwrap();
        assert!(fill(&quota, other) > 20);
        let neighbour = "2001:db8::2".parse().unwrap();
        assert!(!quota.take(1, neighbour, 1), "one /64");
        assert!(quota.take(2, other, 2), "another epoch");
    }
}
