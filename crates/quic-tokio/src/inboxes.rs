//! Datagrams that wait for an endpoint of this process which did not receive them itself.

use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use roundtrip_quic::RecvMeta;

/// The largest number of datagrams that wait to be taken over, and the most bytes of them.
pub(crate) const MAX_DATAGRAMS: usize = 1024;
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// The inboxes of all endpoints at one address, by number.
#[derive(Clone)]
pub(crate) struct Inboxes(Arc<[Mutex<Inbox>]>);

/// Datagrams that were handed over, until the endpoint's driver takes them.
#[derive(Default)]
struct Inbox {
    datagrams: Vec<(RecvMeta, Vec<u8>)>,
    bytes: usize,
    /// The waker of the driver, while it sleeps.
    driver: Option<Waker>,
    /// Whether the endpoint has been dropped.
    is_closed: bool,
}

impl Inboxes {
    pub(crate) fn new(count: u16) -> Self {
        Self((0..count).map(|_| Mutex::default()).collect())
    }

    pub(crate) fn count(&self) -> u16 {
        u16::try_from(self.0.len()).unwrap_or(u16::MAX)
    }

    /// Hands a datagram over. If there is no room, it counts as lost.
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

    /// Takes the datagrams that were handed to this endpoint.
    pub(crate) fn take(&self, number: u16) -> Vec<(RecvMeta, Vec<u8>)> {
        self.of(number).map_or_else(Vec::new, |mut inbox| {
            inbox.bytes = 0;
            take(&mut inbox.datagrams)
        })
    }

    /// Stores the driver's waker. Returns false if something is there to be taken.
    pub(crate) fn sleep(&self, number: u16, waker: &Waker) -> bool {
        self.of(number).is_none_or(|mut inbox| {
            inbox.driver = Some(waker.clone());
            inbox.datagrams.is_empty()
        })
    }

    /// The endpoint has been dropped.
    pub(crate) fn close(&self, number: u16) {
        if let Some(mut inbox) = self.of(number) {
            *inbox = Inbox {
                is_closed: true,
                ..Inbox::default()
            };
        }
    }

    fn of(&self, number: u16) -> Option<MutexGuard<'_, Inbox>> {
        let inbox = self.0.get(usize::from(number))?;
        Some(inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
