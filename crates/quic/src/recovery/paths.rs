//! Packets that are forgotten before they are acknowledged or lost: those of a space whose keys are
//! dropped, of a first flight that was refused, and of a path that is left.

use std::net::IpAddr;
use std::time::Duration;

use super::feedback::Feedback;
#[cfg(test)]
use super::ledger::Ledger;
use super::{Pacer, Recovery, Reordering, Rtt};
use crate::congestion::{Controller, controller};
use crate::sent::entry::{ACKED, OUTSTANDING, REQUEUED, Runs};
use crate::sent::{Bursts, Items, SentRing};
use crate::space::Space;
use crate::{Time, Transport};

/// How long knowledge about a path remains valid.
const MAX_AGE: Duration = Duration::from_mins(1);

/// The knowledge about the path that was left last. A peer that switches between two addresses gets
/// its windows back, and not an initial window each time.
#[derive(Debug)]
pub(super) struct LeftPath {
    remote: IpAddr,
    left: Time,
    rtt: Rtt,
    controller: Box<dyn Controller>,
    reordering: Reordering,
}

impl Recovery {
    /// Handles the loss of a space's keys: its packets no longer count as in flight. RFC 9002 §6.4.
    pub(crate) fn discard(&mut self, space: Space) {
        self.forget(space, None);
        self.cancel_probes(space);
    }

    /// Handles the end of the connection: forgets sent packets, but not their numbers.
    pub(crate) fn end(&mut self) {
        for ledger in &mut self.spaces {
            ledger.ring = SentRing::default();
        }
        self.items = Items::default();
        self.bursts = Bursts::new();
    }

    /// How many packets are remembered.
    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        self.spaces.iter().map(Ledger::len).sum()
    }

    /// Sends everything in the space again, through no fault of the path: after a Retry, or when
    /// early data was refused. RFC 9002 §6.2.3.
    pub(crate) fn retransmit_all(&mut self, space: Space, feedback: &mut Feedback) {
        self.forget(space, Some(feedback));
        self.cancel_probes(space);
    }

    fn forget(&mut self, space: Space, mut feedback: Option<&mut Feedback>) {
        self.end_burst();
        let ledger = &mut self.spaces[space.index()];
        let mut runs = Runs::new();
        let mut number = ledger.ring.first();
        while number < ledger.ring.next() {
            let entry = ledger.ring.at(number);
            number = if entry.is(ACKED) {
                entry.offset
            } else {
                number + 1
            };
            if !entry.is(OUTSTANDING) {
                continue;
            }
            self.in_flight -= u64::from(entry.size);
            let tell = !entry.is(REQUEUED);
            if let (Some(feedback), true) = (feedback.as_deref_mut(), tell) {
                runs.add(&entry, &mut feedback.lost);
            }
            self.items.take(entry.items, |item| {
                if let (Some(feedback), true) = (feedback.as_deref_mut(), tell) {
                    feedback.lost_items.push((space, item));
                }
            });
        }
        if let Some(feedback) = feedback {
            runs.end(&mut feedback.lost);
        }
        ledger.ring.release(number);
        ledger.ring.shrink();
        ledger.unresolved = ledger.ring.first();
        ledger.eliciting = 0;
        ledger.silent = 0;
        self.reordering.forget(space);
        self.ptos_in_a_row = 0;
        self.release_bursts();
    }

    /// The peer has another address: nothing is known about the path to it, unless the peer used it
    /// before the address that it has `left`. What is in flight on the old path is neither in
    /// flight here, nor a sample, nor a sign of congestion. RFC 9000 §9.4.
    pub(crate) fn on_new_path(
        &mut self,
        config: &Transport,
        now: Time,
        left: Option<IpAddr>,
        remote: IpAddr,
    ) {
        self.end_burst();
        self.begin_search(remote);
        let ledger = &mut self.spaces[Space::Data.index()];
        for number in ledger.ring.first()..ledger.ring.next() {
            if let Some(entry) = ledger.ring.at_mut(number) {
                if entry.is(OUTSTANDING) {
                    self.in_flight -= u64::from(entry.size);
                }
                entry.size = 0;
            }
        }
        self.path_start = ledger.ring.next();
        let known = self
            .left_path
            .take()
            .filter(|path| path.remote == remote && now.since(path.left) < MAX_AGE);
        let (rtt, controller, reordering) = match known {
            Some(path) => (path.rtt, path.controller, path.reordering),
            None => (
                Rtt::new(config.initial_rtt),
                controller(config.congestion, self.mtu.current()),
                Reordering::default(),
            ),
        };
        let rtt = std::mem::replace(&mut self.rtt, rtt);
        let controller = std::mem::replace(&mut self.controller, controller);
        let reordering = std::mem::replace(&mut self.reordering, reordering);
        self.controller.set_datagram(self.mtu.current());
        self.left_path = left.map(|left| {
            Box::new(LeftPath {
                remote: left,
                left: now,
                rtt,
                controller,
                reordering,
            })
        });
        self.pacer = Pacer::new(config.pacing);
        let marked = self.spaces.iter().map(|ledger| ledger.marked).sum();
        self.ecn.on_new_path(marked);
        self.ptos_in_a_row = 0;
    }

    /// A connection at rest holds little: if nothing was in flight for a second, large rings are
    /// freed.
    pub(super) fn give_memory_back(&mut self, now: Time) {
        let before = self.bursts.current().time;
        if now.since(before).as_secs() >= 1 {
            for ledger in &mut self.spaces {
                ledger.ring.shrink();
            }
            self.bursts.shrink();
            self.items.shrink();
        }
    }
}
