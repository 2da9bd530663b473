//! Which packets are lost, and what their loss says about the path. RFC 9002 §6.1, §7.6.

use std::time::Duration;

use super::Recovery;
use super::feedback::Feedback;
use crate::Time;
use crate::congestion::Lost;
use crate::sent::entry::{ACKED, ELICITING, LOST, MARKED, MTU_PROBE, OUTSTANDING, REQUEUED, Runs};
use crate::space::Space;

/// A packet is lost when one sent this many later has arrived. RFC 9002 §6.1.1.
const PACKET_THRESHOLD: u64 = 3;
/// The limit up to which the threshold grows if packets prove to be reordered.
const MAX_PACKET_THRESHOLD: u64 = 128;
/// RFC 9002 §7.6.1.
const PERSISTENT: u32 = 3;

#[derive(Debug)]
pub(super) struct Reordering {
    pub(super) threshold: u64,
    /// The extra time that packets took that had wrongly been declared lost.
    longer: Duration,
    /// When the oldest outstanding packet that is older than an acknowledged one will be lost.
    pub(super) loss_times: [Option<Time>; 3],
    /// When the first of the latest run of lost packets left; no packet of such a run was
    /// acknowledged. RFC 9002 §7.6.2.
    lost_since: [Option<Time>; 3],
    /// The current congestion event: the last that the controller was informed of, when it began,
    /// and how many of its losses may be real.
    episode: u8,
    began: Option<Time>,
    open: u64,
}

impl Default for Reordering {
    fn default() -> Self {
        Self {
            threshold: PACKET_THRESHOLD,
            longer: Duration::ZERO,
            loss_times: [None; 3],
            lost_since: [None; 3],
            episode: 0,
            began: None,
            open: 0,
        }
    }
}

impl Reordering {
    pub(super) fn end_lost_run(&mut self, space: Space) {
        self.lost_since[space.index()] = None;
    }

    /// Handles the arrival of a packet that was declared lost, this far behind the newest. Returns
    /// whether the congestion event has no loss left.
    pub(super) fn on_late(&mut self, episode: u8, behind: u64) -> bool {
        self.threshold = self.threshold.max((behind + 1).min(MAX_PACKET_THRESHOLD));
        if episode != self.episode || self.open == 0 {
            return false;
        }
        self.open -= 1;
        self.open == 0
    }

    /// Notes that a packet declared lost took this long to arrive; `usual` is the normal time.
    pub(super) fn on_took(&mut self, took: Duration, usual: Duration) {
        self.longer = self.longer.max(took.saturating_sub(usual));
    }

    /// A packet sent at `sent` is lost. Returns the congestion event that it belongs to.
    fn on_lost(&mut self, now: Time, sent: Time) -> u8 {
        if self.began.is_none_or(|began| sent > began) {
            self.began = Some(now);
            self.episode = self.episode.wrapping_add(1);
            self.open = 0;
        }
        self.open += 1;
        self.episode
    }

    /// Notes that an ack-eliciting packet sent at `sent` is lost too. Returns the time between the
    /// first and the last of the packets lost in a row.
    fn lost_span(&mut self, space: Space, sent: Time) -> Duration {
        let since = *self.lost_since[space.index()].get_or_insert(sent);
        sent.since(since)
    }

    /// Something other than a loss has reduced the window since; that is not undone.
    pub(super) fn close_episode(&mut self) {
        self.open = 0;
    }

    pub(super) fn forget(&mut self, space: Space) {
        self.loss_times[space.index()] = None;
        self.lost_since[space.index()] = None;
    }
}

#[derive(Debug, Default)]
struct FoundLosses {
    bytes: u64,
    newest: Option<Time>,
    /// The smallest lost datagram, if the losses began a congestion event.
    size: Option<u16>,
    began: bool,
    span: Duration,
    marked: u64,
}

impl Recovery {
    /// Checks the outstanding packets below the largest acknowledged, from the oldest on, and
    /// informs the controller once at most.
    pub(super) fn detect_losses(&mut self, now: Time, space: Space, feedback: &mut Feedback) {
        let index = space.index();
        self.reordering.loss_times[index] = None;
        let Some(largest) = self.spaces[index].largest_acked else {
            return;
        };
        let mut losses = FoundLosses::default();
        let mut runs = Runs::new();
        let mut number = self.spaces[index].unresolved;
        let end = (largest + 1).min(self.spaces[index].next());
        while number < end {
            let entry = self.spaces[index].ring.at(number);
            if entry.is(ACKED) {
                self.reordering.end_lost_run(space);
                number = entry.offset;
            } else if entry.is(OUTSTANDING) {
                let sent = self.bursts.get(entry.burst).time;
                let due = sent.after(self.loss_delay());
                if largest - number < self.reordering.threshold && due > now {
                    self.reordering.loss_times[index] = Some(due);
                    break;
                }
                self.lose(now, space, number, &mut losses, &mut runs, feedback);
                number += 1;
            } else {
                number += 1;
            }
        }
        self.spaces[index].unresolved = number;
        runs.end(&mut feedback.lost);
        // An event counts once for the path's MTU, however many losses belong to it, because they
        // may be reordered packets.
        if losses.began {
            let least = feedback.lost_size.into_iter().chain(losses.size).min();
            feedback.lost_size = least;
        }
        self.tell_losses(now, &losses);
    }

    /// RFC 9002 §6.1.2; on a path that reorders, up to a round trip more, as in RACK. RFC 8985
    /// §6.2.
    pub(super) fn loss_delay(&self) -> Duration {
        let more = self.reordering.longer.min(self.rtt.smoothed());
        self.rtt.loss_delay() + more
    }

    fn lose(
        &mut self,
        now: Time,
        space: Space,
        number: u64,
        losses: &mut FoundLosses,
        runs: &mut Runs,
        feedback: &mut Feedback,
    ) {
        let ledger = &mut self.spaces[space.index()];
        let Some(entry) = ledger.ring.at_mut(number) else {
            return;
        };
        let was = *entry;
        entry.flags = was.flags & !OUTSTANDING | LOST;
        entry.items = 0;
        ledger.eliciting -= u64::from(was.is(ELICITING));
        ledger.silent -= u64::from(!was.is(ELICITING));
        self.in_flight -= u64::from(was.size);
        let burst = self.bursts.get(was.burst);
        let (sent, was_sent) = (burst.time, !burst.is_withheld);
        if was.size > 0 && !was.is(MTU_PROBE) && was_sent {
            losses.bytes += u64::from(was.size);
            feedback.lost_after = feedback.lost_after.max(now.since(sent));
            losses.newest = Some(sent);
            losses.marked += u64::from(was.is(MARKED));
            let before = self.reordering.episode;
            entry.episode = self.reordering.on_lost(now, sent);
            losses.began |= entry.episode != before;
            losses.size = losses.size.into_iter().chain([was.size]).min();
            if self.rtt.sampled().is_some_and(|first| sent > first) {
                losses.span = losses.span.max(self.reordering.lost_span(space, sent));
            }
        } else {
            // It belongs to no event: if it arrives late, that says nothing about congestion.
            entry.episode = self.reordering.episode.wrapping_sub(1);
        }
        if !was.is(ELICITING) {
            // It is not sent again.
            entry.flags = ACKED;
            entry.offset = number + 1;
        }
        if let Some(numbers) = &mut feedback.lost_numbers {
            numbers.push((space, number));
        }
        self.counters.lost += 1;
        self.counters.lost_bytes += u64::from(was.size);
        if !was.is(MTU_PROBE) {
            feedback.lost_packets += 1;
            feedback.lost_bytes += u64::from(was.size);
        }
        let told = was.is(REQUEUED);
        if !told {
            runs.add(&was, &mut feedback.lost);
        }
        self.items.take(was.items, |item| {
            if !told {
                feedback.lost_items.push((space, item));
            }
        });
    }

    fn tell_losses(&mut self, now: Time, losses: &FoundLosses) {
        let Some(sent) = losses.newest else {
            return;
        };
        self.ecn.on_lost(losses.marked);
        self.delivery.lost += losses.bytes;
        let period = (self.rtt.pto() + self.max_ack_delay) * PERSISTENT;
        let persistent = losses.span > period;
        if persistent {
            self.rtt.forget_min();
        }
        self.controller.on_lost(&Lost {
            now,
            bytes: losses.bytes,
            sent,
            in_flight: self.in_flight,
            persistent,
        });
    }
}
