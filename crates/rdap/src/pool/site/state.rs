//! What there is of connections to one origin, and who waits for one.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Fault, Lane, Seat, Solo};

#[derive(Default)]
pub(super) struct State {
    /// HTTP/2 and 3.
    pub(super) lanes: Vec<Arc<Lane>>,
    /// HTTP/1.1, unused.
    pub(super) idle: Vec<Solo>,
    /// HTTP/1.1, used or not.
    pub(super) solos: usize,
    pub(super) opening: usize,
    /// First come, first served.
    pub(super) waiting: VecDeque<Waiter>,
    /// The server did not take more connections than this.
    pub(super) ceiling: Option<usize>,
}

pub(super) struct Waiter {
    /// Its request may leave in early data.
    pub(super) early: bool,
    pub(super) seat: oneshot::Sender<Result<Seat, Arc<Fault>>>,
}

impl State {
    /// Those that come up are among them.
    pub(super) fn connections(&self) -> usize {
        self.opening + self.solos + self.lanes.len()
    }

    /// A seat for somebody who left meanwhile is free again.
    pub(super) fn hand(&mut self, waiter: Waiter, seat: Seat) {
        if let Err(Ok(seat)) = waiter.seat.send(Ok(seat))
            && let Some(solo) = seat.take()
        {
            self.idle.push(solo);
        }
    }

    /// Is there one whose handshake is not over?
    pub(super) fn has_unproven(&self) -> bool {
        let idle = self.idle.iter().map(|solo| &solo.lane);
        self.lanes.iter().chain(idle).any(|lane| !lane.is_proven())
    }

    /// No connection: with others there is hope, without any there is none for those who wait.
    pub(super) fn failed(&mut self, fault: Fault) {
        let there = self.connections();
        if there > 0 {
            self.ceiling = Some(there);
            return;
        }
        let fault = Arc::new(fault);
        for waiter in self.waiting.drain(..) {
            // Who has left needs no answer.
            let _ = waiter.seat.send(Err(fault.clone()));
        }
    }

    /// How many facts, connections and waits are kept.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let lanes = self.lanes.iter();
        let lanes = lanes.chain(self.idle.iter().map(|solo| &solo.lane));
        let facts = lanes.map(|lane| 1 + lane.recorder.snapshot().iter().count());
        facts.sum::<usize>() + self.waiting.len() + self.opening
    }
}
