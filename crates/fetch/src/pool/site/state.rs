//! The state of the connections to one origin, and the requests that wait for one.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::ticket::Seeking;
use super::{Lane, Lease, PoolErrorKind, Solo};

#[derive(Default)]
pub(super) struct State {
    /// The HTTP/2 and 3 connections.
    pub(super) lanes: Vec<Arc<Lane>>,
    /// Unused connections over HTTP/1.1.
    pub(super) idle: Vec<Solo>,
    /// The number of connections over HTTP/1.1, used and unused.
    pub(super) solos: usize,
    pub(super) opening: usize,
    /// The waiting requests, in order of arrival.
    pub(super) waiting: VecDeque<Waiter>,
    /// The search for a ticket of HTTP/3, once it began.
    pub(super) seeking: Option<Seeking>,
    /// The largest number of connections that the server accepted, once it refused another.
    pub(super) ceiling: Option<usize>,
}

pub(super) struct Waiter {
    /// The request may leave in early data.
    pub(super) early: bool,
    pub(super) lease: oneshot::Sender<Result<Lease, Arc<PoolErrorKind>>>,
}

impl State {
    /// The number of connections, including those being opened.
    pub(super) fn connections(&self) -> usize {
        self.opening + self.solos + self.lanes.len()
    }

    /// Hands a place to a waiter. If the waiter has been dropped, the place becomes free again.
    pub(super) fn hand(&mut self, waiter: Waiter, lease: Lease) {
        if let Err(Ok(lease)) = waiter.lease.send(Ok(lease))
            && let Some(solo) = lease.take()
        {
            self.idle.push(solo);
        }
    }

    /// Whether there is a connection whose handshake is not complete.
    pub(super) fn has_unproven(&self) -> bool {
        let idle = self.idle.iter().map(|solo| &solo.lane);
        self.lanes.iter().chain(idle).any(|lane| !lane.is_proven())
    }

    /// Handles a failure to open a connection: if there are no others, all waiting requests fail.
    pub(super) fn failed(&mut self, fault: PoolErrorKind) {
        let there = self.connections();
        if there > 0 {
            self.ceiling = Some(there);
            return;
        }
        let fault = Arc::new(fault);
        for waiter in self.waiting.drain(..) {
            // A waiter that is gone needs no answer.
            let _ = waiter.lease.send(Err(fault.clone()));
        }
    }

    /// The number of kept events, connections and waiting requests.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let lanes = self.lanes.iter();
        let lanes = lanes.chain(self.idle.iter().map(|solo| &solo.lane));
        let facts = lanes.map(|lane| 1 + lane.recorder.snapshot().iter().count());
        facts.sum::<usize>() + self.waiting.len() + self.opening
    }
}
