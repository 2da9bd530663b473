//! Tracks which packets have arrived, and when they have to be acknowledged. RFC 9000 §13.2,
//! draft-ietf-quic-ack-frequency.

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::ranges::Ranges;
use crate::space::Space;
use crate::{Time, Transport};

/// Packets older than this many ranges are neither acknowledged nor accepted.
const MAX_RANGES: usize = 64;
/// An end with too many unacknowledged ACK frames sends no ACK frame sooner than this.
const PATIENCE: Duration = Duration::from_millis(25);

/// The received packets of one space.
#[derive(Debug)]
pub(crate) struct Received {
    ranges: Ranges,
    /// Everything below counts as received.
    floor: u64,
    /// The peer knows that everything below was received.
    known: u64,
    /// The count of numbers below the highest that have not arrived.
    missing: u64,
    /// When the packet with the highest number arrived.
    highest_at: Time,
    highest_eliciting: Option<u64>,
    /// The highest number in the last ACK frame.
    told: Option<u64>,
    /// Packets that arrived since the last ACK frame, and wait for the next one.
    waiting: u64,
    at_once: bool,
    due: Option<Time>,
    /// Whether every ACK frame waits for its delay.
    is_patient: bool,
    policy: Policy,
    /// The sequence number of the last ACK_FREQUENCY frame.
    sequence: Option<u64>,
    /// ECT(0), ECT(1), CE.
    marks: [u64; 3],
}

#[derive(Debug, Clone, Copy)]
struct Policy {
    /// How many packets may wait; after one more, an ACK frame is due.
    threshold: u64,
    delay: Duration,
    /// A packet that is missing for this many numbers is reported at once; 0: never. 1 is RFC
    /// 9000's rule.
    reordering: u64,
}

impl Received {
    pub(crate) fn new(space: Space, config: &Transport) -> Self {
        // Packets of the handshake are acknowledged at once. RFC 9000 §13.2.1.
        let threshold = match space {
            Space::Initial | Space::Handshake => 0,
            Space::Data => config.ack_every.saturating_sub(1),
        };
        Self {
            ranges: Ranges::default(),
            floor: 0,
            known: 0,
            missing: 0,
            highest_at: Time::ZERO,
            highest_eliciting: None,
            told: None,
            waiting: 0,
            at_once: false,
            due: None,
            is_patient: false,
            policy: Policy {
                threshold,
                delay: config.max_ack_delay,
                reordering: 1,
            },
            sequence: None,
            marks: [0; 3],
        }
    }

    /// The next number if nothing is lost; truncated numbers are read relative to it. RFC 9000
    /// §A.3.
    #[inline]
    pub(crate) fn expected(&self) -> u64 {
        self.ranges.highest().map_or(0, |highest| highest + 1)
    }

    /// Adds a packet; returns false if it is a duplicate, or too old to tell.
    #[inline]
    pub(crate) fn is_new(&self, number: u64) -> bool {
        number >= self.expected() || (number >= self.floor && !self.ranges.contains(number))
    }

    /// Records a new packet, all of whose frames have been read; `ecn` holds the two bits of its IP
    /// header.
    #[inline]
    pub(crate) fn on_packet(&mut self, now: Time, number: u64, eliciting: bool, ecn: u8) {
        let expected = self.expected();
        let is_late = number < expected;
        if is_late {
            self.missing = self.missing.saturating_sub(1);
        } else {
            self.missing += number - expected;
            self.highest_at = now;
        }
        self.ranges.insert(number);
        self.known = self.known.min(number);
        if self.ranges.len() > MAX_RANGES
            && let Some(oldest) = self.ranges.pop_lowest()
        {
            self.floor = oldest.end() + 1;
        }
        let is_congested = ecn & 0b11 == 0b11;
        match ecn & 0b11 {
            0b10 => self.marks[0] += 1,
            0b01 => self.marks[1] += 1,
            0b11 => self.marks[2] += 1,
            _ => {}
        }
        if !eliciting {
            return;
        }
        self.waiting += 1;
        self.at_once |= is_congested
            || self.waiting > self.policy.threshold
            || ((is_late || self.ranges.len() > 1) && self.is_out_of_order(number));
        self.highest_eliciting = self.highest_eliciting.max(Some(number));
        if self.due.is_none() {
            let delay = if self.is_patient {
                self.policy.delay.max(PATIENCE)
            } else {
                self.policy.delay
            };
            self.due = Some(now.after(delay));
        }
    }

    /// RFC 9000 §13.2.1; draft-ietf-quic-ack-frequency §6.2.
    fn is_out_of_order(&self, number: u64) -> bool {
        let threshold = self.policy.reordering;
        if threshold == 0 {
            return false;
        }
        let highest = self.highest_eliciting.max(Some(number)).unwrap_or(number);
        if threshold == 1 && number < highest {
            return true;
        }
        // A gap that the last ACK frame has already reported is not reported again.
        let reported = match self.told {
            Some(told) => told.saturating_sub(threshold),
            None => self.ranges.lowest().unwrap_or(0),
        };
        let missing = self.ranges.lowest_missing_above(reported);
        missing.is_some_and(|missing| highest.saturating_sub(missing) >= threshold)
    }

    /// Whether an ACK frame has to leave now.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        (self.at_once && !self.is_patient) || self.due.is_some_and(|due| due <= now)
    }

    /// Sets whether all ACK frames wait for their delay.
    #[inline]
    pub(crate) fn set_patient(&mut self, is_patient: bool) {
        self.is_patient = is_patient;
    }

    /// Whether a packet that leaves anyway should carry an ACK frame: some packet waits for one.
    pub(crate) fn has_any_pending(&self) -> bool {
        self.waiting > 0
    }

    /// When an ACK frame becomes due; `None` if one is due at once, or nothing waits.
    pub(crate) fn deadline(&self) -> Option<Time> {
        if self.at_once && !self.is_patient {
            None
        } else {
            self.due
        }
    }

    /// The ranges of the ACK frame, from the highest down, without those that the peer knows
    /// already; never empty once a packet has arrived.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u64>> {
        let known = self.known.min(self.ranges.highest().unwrap_or(0));
        self.ranges
            .descending()
            .take_while(move |range| *range.end() >= known)
            .map(move |range| known.max(*range.start())..=*range.end())
    }

    /// The highest number, with which an ACK frame begins.
    pub(crate) fn largest(&self) -> Option<u64> {
        self.ranges.highest()
    }

    /// The number of packets that have not arrived although a higher packet number has. They were
    /// lost or are late, or the peer skipped their numbers.
    pub(crate) fn missing(&self) -> u64 {
        self.missing
    }

    /// How long the packet with the highest number has waited. RFC 9000 §13.2.5.
    pub(crate) fn delay(&self, now: Time) -> Duration {
        now.since(self.highest_at)
    }

    /// The counts of ECN marks; `None` if no mark ever came.
    pub(crate) fn ecn(&self) -> Option<[u64; 3]> {
        (self.marks != [0; 3]).then_some(self.marks)
    }

    pub(crate) fn on_ack_sent(&mut self) {
        self.waiting = 0;
        self.at_once = false;
        self.due = None;
        self.told = self.ranges.highest();
    }

    /// Notes that the peer has received an ACK frame that reached up to `largest`; its ranges need
    /// not be repeated. RFC 9000 §13.2.4.
    pub(crate) fn on_ack_acked(&mut self, largest: u64) {
        self.known = self.known.max(largest.saturating_add(1));
    }

    /// Handles an ACK_FREQUENCY frame. Frames that come after a newer one are ignored.
    pub(crate) fn ask(&mut self, sequence: u64, threshold: u64, delay: Duration, reordering: u64) {
        if self.sequence.is_some_and(|newest| sequence <= newest) {
            return;
        }
        self.sequence = Some(sequence);
        self.policy = Policy {
            threshold,
            delay,
            reordering,
        };
        self.at_once |= self.waiting > threshold;
    }

    /// Handles an IMMEDIATE_ACK frame.
    pub(crate) fn ask_now(&mut self) {
        self.at_once = true;
    }
}
