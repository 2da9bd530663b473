//! The packets of one space: acknowledged, lost, or still outstanding.

use std::ops::RangeInclusive;

use super::feedback::Feedback;
use super::losses::Reordering;
use crate::error::{Code, TransportError};
use crate::sent::entry::{ACKED, ELICITING, LOST, MARKED, OUTSTANDING, Runs};
use crate::sent::{Bursts, Items, SentPacket, SentRing};
use crate::space::Space;

/// The number of entries above which lost packets and packets that elicit no acknowledgement are
/// forgotten first.
const MAX_AT_EASE: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) ring: SentRing,
    /// The next packet's number.
    pub(super) number: u64,
    pub(super) largest_acked: Option<u64>,
    /// The lowest number that may be outstanding: it is not acknowledged.
    pub(super) unresolved: u64,
    /// The number of outstanding packets that elicit acknowledgements, and the burst with the
    /// newest such packet ever sent.
    pub(super) eliciting: u64,
    pub(super) last_eliciting: u32,
    /// The number of outstanding packets that elicit no acknowledgement.
    pub(super) silent: u64,
    /// How many packets were ever marked with ECT(0), and how many numbers were skipped.
    pub(super) marked: u64,
    skipped: u64,
}

/// The sums over the packets that an ACK frame newly acknowledges.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) bytes: u64,
    /// The bytes of packets that had been declared lost.
    pub(super) late_bytes: u64,
    pub(super) packets: u64,
    pub(super) eliciting: u64,
    pub(super) marked: u64,
    /// The number and burst of the newest of these packets.
    pub(super) newest: Option<(u64, u32)>,
    pub(super) size: u16,
    pub(super) spurious: u64,
    /// The number and burst of the oldest packet that had been declared lost.
    pub(super) latest: Option<(u64, u32)>,
    /// The last loss of a congestion event has proved to be spurious.
    pub(super) undone: bool,
}

impl Ledger {
    pub(super) fn next(&self) -> u64 {
        self.ring.next()
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.ring.is_full()
    }

    pub(super) fn push(&mut self, entry: SentPacket) {
        self.ring.push(entry);
    }

    #[cfg(test)]
    pub(super) fn sent(&self) -> u64 {
        self.ring.next() - self.skipped
    }

    /// Settles one range of an ACK frame, from its lowest number up.
    pub(super) fn settle(
        &mut self,
        range: RangeInclusive<u64>,
        settled: &mut Settled,
        told: &mut SettleOutput<'_>,
    ) -> Result<(), TransportError> {
        let from = (*range.start()).max(self.ring.first());
        let after = *range.end() + 1;
        let mut runs = Runs::new();
        let mut sums = Sums::default();
        let mut last = None;
        let mut number = from;
        while number < after {
            let Some(entry) = self.ring.at_mut(number) else {
                break;
            };
            if entry.is(ACKED) {
                number = entry.offset;
                entry.offset = number.max(after);
                continue;
            }
            runs.add(entry, &mut told.feedback.acked);
            if entry.is(OUTSTANDING) {
                sums.add(entry);
                if entry.items != 0 {
                    told.take(entry.items);
                }
                last = Some((number, entry.burst));
            } else {
                settled.add_late(entry, number, told)?;
            }
            entry.flags = ACKED;
            entry.offset = after;
            number += 1;
        }
        runs.end(&mut told.feedback.acked);
        settled.add(&sums);
        settled.newest = settled.newest.or(last);
        if (from..after).contains(&self.unresolved) {
            self.unresolved = after;
            told.reordering.end_lost_run(told.space);
        }
        Ok(())
    }

    /// Forgets settled packets at the front. A lost packet is remembered as long as `is_recent`
    /// returns true for its burst.
    pub(super) fn compact(&mut self, is_recent: impl Fn(u32) -> bool) {
        let mut first = self.ring.first();
        while first < self.ring.next() {
            let entry = self.ring.at(first);
            let passes_gap = self.largest_acked.is_some_and(|largest| largest > first);
            first = if entry.is(ACKED) {
                entry.offset
            } else if entry.is(OUTSTANDING) || (entry.is(LOST) && is_recent(entry.burst)) {
                break;
            } else if entry.is(LOST) || passes_gap {
                first + 1
            } else {
                break;
            };
        }
        self.release(first);
    }

    fn release(&mut self, below: u64) {
        self.ring.release(below);
        self.unresolved = self.unresolved.max(self.ring.first());
    }

    /// Makes room for an entry that does not follow the last one, or for which the ring is full.
    /// Returns the number of bytes in flight that are forgotten.
    #[cold]
    pub(super) fn make_room(&mut self, number: u64, items: &mut Items, most: usize) -> u64 {
        while self.ring.next() < number {
            self.ring.push(SentPacket::GAP);
            self.skipped += 1;
        }
        self.number = self.number.max(number + 1);
        if !self.ring.is_full() || self.ring.len() < MAX_AT_EASE {
            return 0;
        }
        let mut forgotten = 0;
        let mut first = self.ring.first();
        let enough = first + (self.ring.len() / 4) as u64;
        // If a peer leaves this many packets unacknowledged, the content of the oldest need not be
        // sent again.
        let mut too_many = self.ring.len() >= most;
        while first < enough {
            let entry = self.ring.at(first);
            if entry.is(OUTSTANDING) {
                if entry.is(ELICITING) && !std::mem::take(&mut too_many) {
                    break;
                }
                self.eliciting -= u64::from(entry.is(ELICITING));
                self.silent -= u64::from(!entry.is(ELICITING));
                forgotten += u64::from(entry.size);
                items.take(entry.items, |_| {});
            }
            first = if entry.is(ACKED) {
                entry.offset
            } else {
                first + 1
            };
        }
        self.release(first);
        forgotten
    }

    /// The oldest burst that packets of this space refer to.
    pub(super) fn oldest_burst(&self, bursts: &Bursts) -> u32 {
        let mut number = self.ring.first();
        while number < self.ring.next() {
            let entry = self.ring.at(number);
            if !entry.is(OUTSTANDING | LOST | ACKED) {
                number += 1;
                continue;
            }
            return entry.burst;
        }
        bursts.newest()
    }
}

/// Where the settled packets are reported.
pub(super) struct SettleOutput<'a> {
    pub(super) space: Space,
    pub(super) items: &'a mut Items,
    pub(super) feedback: &'a mut Feedback,
    pub(super) reordering: &'a mut Reordering,
    /// The largest number that the frame acknowledges.
    pub(super) largest: u64,
}

impl SettleOutput<'_> {
    #[cold]
    fn take(&mut self, chain: u32) {
        let acked = &mut self.feedback.acked_items;
        let space = self.space;
        self.items.take(chain, |item| acked.push((space, item)));
    }
}

/// The sums over packets, kept in registers.
#[derive(Default)]
struct Sums {
    bytes: u64,
    packets: u64,
    eliciting: u64,
    marked: u64,
    size: u16,
}

impl Sums {
    #[inline]
    fn add(&mut self, was: &SentPacket) {
        self.bytes += u64::from(was.size);
        self.packets += 1;
        self.eliciting += u64::from(was.is(ELICITING));
        self.marked += u64::from(was.is(MARKED));
        self.size = self.size.max(was.size);
    }
}

impl Settled {
    fn add(&mut self, sums: &Sums) {
        self.bytes += sums.bytes;
        self.packets += sums.packets;
        self.eliciting += sums.eliciting;
        self.marked += sums.marked;
        self.size = self.size.max(sums.size);
    }

    /// The packet was acknowledged without being outstanding: it was declared lost, or never sent.
    #[cold]
    fn add_late(
        &mut self,
        was: &SentPacket,
        number: u64,
        told: &mut SettleOutput<'_>,
    ) -> Result<(), TransportError> {
        if !was.is(LOST) {
            return Err(TransportError::new(
                Code::PROTOCOL_VIOLATION,
                "it acknowledges a packet number that was never used",
            ));
        }
        self.spurious += 1;
        if self.latest.is_none_or(|(other, _)| number < other) {
            self.latest = Some((number, was.burst));
        }
        self.late_bytes += u64::from(was.size);
        self.size = self.size.max(was.size);
        told.reordering.end_lost_run(told.space);
        self.undone |= told
            .reordering
            .on_late(was.episode, told.largest.saturating_sub(number));
        Ok(())
    }
}
