//! The connections by the address of their peer: a stateless reset names no connection, so it is
//! for one of those with the address that it came from. RFC 9000 §10.3.1.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::Handle;

/// The number of connections whose reset tokens are compared, the newest first, so that a stray
/// datagram has a bounded cost. Other connections end by their timeouts.
const MAX_COMPARED: usize = 256;

/// One address may have many connections, so each is found by its number.
#[derive(Debug, Default)]
pub(super) struct Peers {
    by_address: BTreeMap<PeerKey, Handle>,
    added: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct PeerKey {
    remote: SocketAddr,
    number: u64,
}

impl Ord for PeerKey {
    fn cmp(&self, other: &Self) -> Ordering {
        #[cfg(test)]
        tests::COMPARED.set(tests::COMPARED.get() + 1);
        (self.remote, self.number).cmp(&(other.remote, other.number))
    }
}

impl PartialOrd for PeerKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Peers {
    /// Returns the number by which the connection is removed again.
    pub(super) fn add(&mut self, remote: SocketAddr, handle: Handle) -> u64 {
        self.added += 1;
        let number = self.added;
        self.by_address.insert(PeerKey { remote, number }, handle);
        number
    }

    pub(super) fn remove(&mut self, remote: SocketAddr, number: u64) {
        self.by_address.remove(&PeerKey { remote, number });
    }

    /// The connections that a stateless reset from this address may be for.
    pub(super) fn at(&self, remote: SocketAddr) -> impl Iterator<Item = Handle> + '_ {
        let key = |number| PeerKey { remote, number };
        let handles = self.by_address.range(key(0)..=key(u64::MAX));
        handles.rev().take(MAX_COMPARED).map(|(_, handle)| *handle)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// How many keys were compared.
        pub(super) static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    fn handle(slot: u32) -> Handle {
        Handle {
            slot,
            generation: 0,
        }
    }

    #[test]
    fn each_address_has_its_own_and_nothing_stays() {
        let mut peers = Peers::default();
        let mut numbers = Vec::new();
        for slot in 0..1000 {
            numbers.push(peers.add(at(1 + slot as u16 % 2), handle(slot)));
        }
        let found: Vec<Handle> = peers.at(at(2)).collect();
        assert_eq!((found.len(), found[0]), (MAX_COMPARED, handle(999)));
        assert_eq!(peers.at(at(3)).count(), 0);
        for (slot, number) in numbers.into_iter().enumerate() {
            peers.remove(at(1 + slot as u16 % 2), number);
        }
        assert!(peers.by_address.is_empty());
    }

    /// All connections have the same address, or each has a different one.
    #[test]
    fn what_a_removal_costs_does_not_depend_on_the_address() {
        const COUNT: u32 = 40_000;
        let work = |port: fn(u32) -> u16| {
            let mut peers = Peers::default();
            let begun: Vec<u64> = (0..COUNT)
                .map(|slot| peers.add(at(port(slot)), handle(slot)))
                .collect();
            let mut most = 0;
            for (slot, number) in (0..COUNT).zip(begun).rev() {
                COMPARED.set(0);
                peers.remove(at(port(slot)), number);
                most = most.max(COMPARED.get());
            }
            most
        };
        // A path through the tree, and not a walk through its entries.
        for most in [work(|slot| slot as u16), work(|_| 1)] {
            assert!((1..100).contains(&most), "{most} comparisons");
        }
    }
}
