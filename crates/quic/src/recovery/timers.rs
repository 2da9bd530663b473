//! When timers expire, and what to do then: time-based losses, and probes. RFC 9002 §6.2.

use std::time::Duration;

use super::feedback::Feedback;
use super::{HandshakeProgress, Recovery, Timeout};
use crate::Time;
use crate::sent::entry::{ELICITING, MTU_PROBE, OUTSTANDING, REQUEUED, Runs};
use crate::space::Space;

/// The wait is doubled at most this many times.
const MAX_DOUBLINGS: u32 = 16;
/// RFC 9002 §6.2.4.
const PROBES: usize = 2;

impl Recovery {
    pub(crate) fn deadline(&self, progress: HandshakeProgress) -> Option<Time> {
        let loss = self.reordering.loss_times.iter().flatten().min();
        match loss {
            Some(time) => Some(*time),
            None if self.blocked => None,
            None => self.next_probe(progress).map(|(time, _)| time),
        }
    }

    /// Doubles `span` once for each probe timeout in a row.
    fn doubled(&self, span: Duration) -> Duration {
        span.saturating_mul(1 << self.ptos_in_a_row.min(MAX_DOUBLINGS))
    }

    /// How long to wait for an acknowledgement in the Data space, not doubled. For idle, draining
    /// and path timers.
    pub(crate) fn pto(&self) -> Duration {
        self.rtt.pto() + self.max_ack_delay
    }

    fn next_probe(&self, progress: HandshakeProgress) -> Option<(Time, Space)> {
        let mut earliest: Option<(Time, Space)> = None;
        for space in Space::ALL {
            let ledger = &self.spaces[space.index()];
            let waits = space != Space::Data || progress.is_confirmed;
            if ledger.eliciting == 0 || !waits {
                continue;
            }
            let span = match space {
                Space::Data => self.pto(),
                _ => self.rtt.pto(),
            };
            let sent = self.bursts.get(ledger.last_eliciting).time;
            let time = sent.after(self.doubled(span));
            if earliest.is_none_or(|(other, _)| time < other) {
                earliest = Some((time, space));
            }
        }
        // The server may be waiting for the client to validate its address, and the client for the
        // server. §6.2.2.1. The rest of the handshake may also be waiting for room behind data that
        // the peer cannot acknowledge until it has the rest.
        let is_stuck = !progress.is_confirmed && self.spaces[Space::Data.index()].eliciting > 0;
        if earliest.is_none() && (!progress.is_peer_validated || is_stuck) {
            let space = if progress.has_handshake_keys {
                Space::Handshake
            } else {
                Space::Initial
            };
            earliest = Some((self.anchor.after(self.doubled(self.rtt.pto())), space));
        }
        earliest
    }

    pub(crate) fn on_timeout(
        &mut self,
        now: Time,
        progress: HandshakeProgress,
        feedback: &mut Feedback,
    ) -> Timeout {
        self.end_burst();
        let times = self.reordering.loss_times;
        let lost = Space::ALL
            .into_iter()
            .filter_map(|space| Some((times[space.index()]?, space)))
            .min_by_key(|(time, _)| *time);
        if let Some((time, space)) = lost {
            if time > now {
                return Timeout::None;
            }
            self.detect_losses(now, space, feedback);
            return Timeout::Lost;
        }
        match self.next_probe(progress) {
            Some((time, space)) if time <= now && !self.blocked => {
                self.ptos_in_a_row += 1;
                self.counters.ptos += 1;
                self.anchor = now;
                let count = self.requeue_oldest(space, feedback);
                self.probes[space.index()] = count as u8;
                self.probe_beside(space, feedback);
                self.suspect_size(progress.is_complete);
                Timeout::Probe { space, count }
            }
            _ => Timeout::None,
        }
    }

    /// Probes with what is in flight in other spaces, too: the peer may have the keys of one of
    /// them only. A server that has confirmed the handshake has no keys for the client's Handshake
    /// packets, and repeats the confirmation only after its own timer. RFC 9002 §6.2.4.
    fn probe_beside(&mut self, space: Space, feedback: &mut Feedback) {
        for other in Space::ALL {
            if other != space && self.spaces[other.index()].eliciting > 0 {
                self.requeue_oldest(other, feedback);
                let probes = &mut self.probes[other.index()];
                *probes = (*probes).max(1);
            }
        }
    }

    /// Sends the content of the oldest packets again, which may be what the peer waits for, without
    /// declaring them lost. Returns how many probes to send. RFC 9002 §6.2.4.
    fn requeue_oldest(&mut self, space: Space, feedback: &mut Feedback) -> usize {
        let ledger = &mut self.spaces[space.index()];
        if ledger.eliciting == 0 {
            return 1;
        }
        let mut runs = Runs::new();
        let mut found = 0;
        let mut number = ledger.unresolved;
        while number < ledger.ring.next() && found < PROBES {
            if let Some(entry) = ledger.ring.at_mut(number)
                && entry.flags & (OUTSTANDING | ELICITING | REQUEUED | MTU_PROBE)
                    == (OUTSTANDING | ELICITING)
            {
                found += 1;
                entry.flags |= REQUEUED;
                runs.add(entry, &mut feedback.lost);
                let told = |item| feedback.lost_items.push((space, item));
                self.items.tell(entry.items, told);
            }
            number += 1;
        }
        runs.end(&mut feedback.lost);
        PROBES
    }
}
