//! Endpoints that share an address, each on a separate thread: the kernel distributes datagrams
//! among their sockets by address, and each endpoint hands over those that belong to another.

use std::fmt;
use std::io;
use std::mem::take;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use roundtrip_quic::{Misdirected, RecvMeta};

use crate::neighbours::{Links, Neighbours};

/// The most datagrams that wait to be taken over, and the most bytes of them.
const MAX_DATAGRAMS: usize = 1024;
const MAX_BYTES: usize = 1 << 20;

/// The place of one endpoint among those that share its address. Connection ids say which endpoint
/// a datagram is for.
pub struct Sibling {
    key: [u8; 32],
    number: u16,
    inboxes: Inboxes,
    /// Other processes at the same address.
    elsewhere: Arc<Links>,
}

/// Those of all endpoints at one address.
#[derive(Clone)]
pub(crate) struct Inboxes(Arc<[Mutex<Inbox>]>);

/// Datagrams that other endpoints have handed over, until the endpoint's driver takes them.
#[derive(Default)]
struct Inbox {
    datagrams: Vec<(RecvMeta, Vec<u8>)>,
    bytes: usize,
    /// The waker of the driver, while it sleeps.
    driver: Option<Waker>,
    /// Whether the endpoint has been dropped.
    is_closed: bool,
}

impl Sibling {
    /// Makes the places of `count` endpoints at one address. `key` must be random, and different
    /// for each address and process.
    pub fn group(count: u16, key: [u8; 32]) -> Vec<Self> {
        let inboxes = Inboxes((0..count).map(|_| Mutex::default()).collect());
        let elsewhere = Arc::<Links>::default();
        let place = |number| Self {
            key,
            number,
            inboxes: inboxes.clone(),
            elsewhere: elsewhere.clone(),
        };
        (0..count).map(place).collect()
    }

    /// Finds other processes that serve this address, and lets later ones find this one. One
    /// endpoint of a group does this for all.
    pub fn meet_neighbours(&self, address: SocketAddr) -> io::Result<Neighbours> {
        Neighbours::meet(address, self.elsewhere.clone(), self.inboxes.clone())
    }

    /// Whether other processes serve the address.
    pub(crate) fn has_neighbours(&self) -> bool {
        self.elsewhere.are_there()
    }

    pub fn number(&self) -> u16 {
        self.number
    }

    /// The same in the engine's type.
    pub(crate) fn in_engine(&self) -> roundtrip_quic::Sibling {
        roundtrip_quic::Sibling {
            key: self.key,
            number: self.number,
            count: u16::try_from(self.inboxes.0.len()).unwrap_or(u16::MAX),
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
        self.inboxes
            .of(self.number)
            .map_or_else(Vec::new, |mut inbox| {
                inbox.bytes = 0;
                take(&mut inbox.datagrams)
            })
    }

    /// Stores the driver's waker. Returns false if something is there to be taken.
    pub(crate) fn sleep(&self, waker: &Waker) -> bool {
        self.inboxes.of(self.number).is_none_or(|mut inbox| {
            inbox.driver = Some(waker.clone());
            inbox.datagrams.is_empty()
        })
    }
}

impl Inboxes {
    pub(crate) fn put(&self, number: u16, way: RecvMeta, datagram: Vec<u8>) {
        let driver = {
            let Some(mut inbox) = self.of(number) else {
                return;
            };
            let bytes = inbox.bytes + datagram.len();
            let is_full = inbox.datagrams.len() >= MAX_DATAGRAMS || bytes > MAX_BYTES;
            if is_full || inbox.is_closed {
                return;
            }
            inbox.bytes = bytes;
            inbox.datagrams.push((way, datagram));
            inbox.driver.take()
        };
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    fn of(&self, number: u16) -> Option<MutexGuard<'_, Inbox>> {
        let inbox = self.0.get(usize::from(number))?;
        Some(inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Sibling {
    fn drop(&mut self) {
        if let Some(mut inbox) = self.inboxes.of(self.number) {
            *inbox = Inbox {
                is_closed: true,
                ..Inbox::default()
            };
        }
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
    fn what_is_handed_over_is_bounded_and_taken_in_order() {
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
        assert!(group[0].inboxes.of(1).unwrap().datagrams.is_empty());
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
