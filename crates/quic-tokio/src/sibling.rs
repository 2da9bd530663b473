//! Endpoints that share an address, each on a separate thread: the kernel distributes datagrams
//! among their sockets by address, and each endpoint hands over those that belong to another.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Waker;

use roundtrip_quic::{Misdirected, RecvMeta};

use crate::inboxes::Inboxes;
use crate::neighbours::{Links, Neighbours};

/// The place of one endpoint among those that share its address. Connection ids say which endpoint
/// a datagram is for.
pub struct Sibling {
    key: [u8; 32],
    number: u16,
    inboxes: Inboxes,
    /// Other processes at the same address.
    elsewhere: Arc<Links>,
}

impl Sibling {
    /// Makes the places of `count` endpoints at one address. `key` must be random, and different
    /// for each address and process.
    pub fn group(count: u16, key: [u8; 32]) -> Vec<Self> {
        let inboxes = Inboxes::new(count);
        let elsewhere = Arc::<Links>::default();
        let place = |number| Self {
            key,
            number,
            inboxes: inboxes.clone(),
            elsewhere: elsewhere.clone(),
        };
        (0..count).map(place).collect()
    }

    /// Finds other processes that serve this address, and lets later ones find this one. The first
    /// endpoint of a group does this for all; the others get `None`.
    pub fn meet_neighbours(&self, address: SocketAddr) -> io::Result<Option<Neighbours>> {
        let is_first = self.number == 0;
        let meet = || Neighbours::meet(address, self.elsewhere.clone(), self.inboxes.clone());
        is_first.then(meet).transpose()
    }

    /// Whether other processes serve the address.
    pub(crate) fn has_neighbours(&self) -> bool {
        self.elsewhere.are_there()
    }

    /// This sibling in the engine's type.
    pub(crate) fn in_engine(&self) -> roundtrip_quic::Sibling {
        roundtrip_quic::Sibling {
            key: self.key,
            number: self.number,
            count: self.inboxes.count(),
        }
    }

    /// Hands a datagram over. If there is no room, it counts as lost.
    pub(crate) fn give(&self, next: Misdirected) {
        let Misdirected { to, way, datagram } = next;
        match to {
            Some(number) => self.inboxes.put(number, way, datagram),
            None => self.elsewhere.send(&way, &datagram),
        }
    }

    /// Takes the datagrams that siblings handed to this endpoint.
    pub(crate) fn take(&self) -> Vec<(RecvMeta, Vec<u8>)> {
        self.inboxes.take(self.number)
    }

    /// Stores the driver's waker. Returns false if something is there to be taken.
    pub(crate) fn sleep(&self, waker: &Waker) -> bool {
        self.inboxes.sleep(self.number, waker)
    }
}

impl Drop for Sibling {
    fn drop(&mut self) {
        self.inboxes.close(self.number);
    }
}

impl fmt::Debug for Sibling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sibling")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inboxes::{MAX_BYTES, MAX_DATAGRAMS};

    fn give(from: &Sibling, to: u16, size: usize) {
        let way = RecvMeta {
            remote: "192.0.2.1:9".parse().unwrap(),
            local: None,
            ecn: 0,
        };
        let datagram = vec![7; size];
        from.give(Misdirected {
            to: Some(to),
            way,
            datagram,
        });
    }

    #[test]
    fn handed_over_datagrams_are_bounded_and_taken_in_order() {
        let group = Sibling::group(3, [1; 32]);
        for size in 0..5 {
            give(&group[0], 2, size);
        }
        let sizes: Vec<usize> = group[2].take().iter().map(|(_, d)| d.len()).collect();
        assert_eq!(sizes, [0, 1, 2, 3, 4]);
        assert!(group[1].take().is_empty() && group[2].take().is_empty());
        for (size, room) in [(10, MAX_DATAGRAMS), (10_000, MAX_BYTES / 10_000)] {
            for _ in 0..2 * MAX_DATAGRAMS {
                give(&group[1], 0, size);
            }
            assert_eq!(group[0].take().len(), room);
        }
        give(&group[0], 3, 1);
    }

    #[test]
    fn nothing_is_kept_for_an_endpoint_that_is_gone() {
        let mut group = Sibling::group(2, [1; 32]);
        give(&group[0], 1, 10);
        drop(group.pop());
        give(&group[0], 1, 10);
        assert!(group[0].inboxes.take(1).is_empty());
    }

    #[test]
    fn a_driver_does_not_sleep_on_what_was_handed_over() {
        let group = Sibling::group(2, [1; 32]);
        assert!(group[1].sleep(Waker::noop()));
        give(&group[0], 1, 10);
        assert!(!group[1].sleep(Waker::noop()));
        assert_eq!(group[1].take().len(), 1);
        assert!(group[1].sleep(Waker::noop()));
    }
}
