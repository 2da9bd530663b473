//! Which packets came, and when that has to be acknowledged. RFC 9000 §13.2,
//! draft-ietf-quic-ack-frequency.

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::ranges::Ranges;
use crate::space::Space;
use crate::{Time, Transport};

/// What is older than this many ranges is neither told nor accepted.
const MAX_RANGES: usize = 64;
/// An end that has told the peer too much already tells no sooner than this.
const PATIENCE: Duration = Duration::from_millis(25);

/// One for each space.
#[derive(Debug)]
pub(crate) struct Received {
    ranges: Ranges,
    /// Everything below counts as received.
    floor: u64,
    /// The peer knows that what lies below was received.
    known: u64,
    /// How many numbers below the highest have not come.
    missing: u64,
    /// When the packet with the highest number came.
    highest_at: Time,
    highest_eliciting: Option<u64>,
    /// The highest number in the last ACK frame.
    told: Option<u64>,
    /// Packets that came since, and wait for one.
    waiting: u64,
    at_once: bool,
    due: Option<Time>,
    /// Nothing is told at once.
    is_patient: bool,
    policy: Policy,
    /// The sequence number of the last ACK_FREQUENCY frame.
    sequence: Option<u64>,
    /// ECT(0), ECT(1), CE.
    marks: [u64; 3],
}

#[derive(Debug, Clone, Copy)]
struct Policy {
    /// How many packets may wait; one more, and an ACK frame is due.
    threshold: u64,
    delay: Duration,
    /// A packet missing for so many numbers is told at once; 0: it is not. 1: RFC 9000's rule.
    reordering: u64,
}

impl Received {
    pub(crate) fn new(space: Space, config: &Transport) -> Self {
        // What belongs to the handshake is acknowledged at once. RFC 9000 §13.2.1.
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

    /// The next number, if none is lost: what truncated numbers are read against. RFC 9000 §A.3.
    #[inline]
    pub(crate) fn expected(&self) -> u64 {
        self.ranges.highest().map_or(0, |highest| highest + 1)
    }

    /// False for one that came before, or that is too old to know.
    #[inline]
    pub(crate) fn is_new(&self, number: u64) -> bool {
        number >= self.expected() || (number >= self.floor && !self.ranges.contains(number))
    }

    /// A new packet, all of whose frames have been read; `ecn` are the two bits of its IP header.
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
        // What the last ACK frame has already made known as missing is not told again.
        let reported = match self.told {
            Some(told) => told.saturating_sub(threshold),
            None => self.ranges.lowest().unwrap_or(0),
        };
        let missing = self.ranges.lowest_missing_above(reported);
        missing.is_some_and(|missing| highest.saturating_sub(missing) >= threshold)
    }

    /// An ACK frame has to leave now.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        (self.at_once && !self.is_patient) || self.due.is_some_and(|due| due <= now)
    }

    /// Whether an ACK frame waits for its delay, whatever came.
    #[inline]
    pub(crate) fn set_patient(&mut self, is_patient: bool) {
        self.is_patient = is_patient;
    }

    /// An ACK frame is worth its bytes in a packet that leaves anyhow: something waits for one.
    pub(crate) fn has_any_pending(&self) -> bool {
        self.waiting > 0
    }

    /// When one becomes due; none where one is due at once, or nothing waits.
    pub(crate) fn deadline(&self) -> Option<Time> {
        if self.at_once && !self.is_patient {
            None
        } else {
            self.due
        }
    }

    /// For the ACK frame, from the highest down: without what the peer knows already, never empty
    /// once a packet came.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u64>> {
        let known = self.known.min(self.ranges.highest().unwrap_or(0));
        self.ranges
            .descending()
            .take_while(move |range| *range.end() >= known)
            .map(move |range| known.max(*range.start())..=*range.end())
    }

    /// The highest number, which an ACK frame begins with.
    pub(crate) fn largest(&self) -> Option<u64> {
        self.ranges.highest()
    }

    /// How many numbers below the highest have not come: of packets that were lost or are late, and
    /// those that the peer left out.
    pub(crate) fn missing(&self) -> u64 {
        self.missing
    }

    /// How long its packet has waited. RFC 9000 §13.2.5.
    pub(crate) fn delay(&self, now: Time) -> Duration {
        now.since(self.highest_at)
    }

    /// None where no mark ever came.
    pub(crate) fn ecn(&self) -> Option<[u64; 3]> {
        (self.marks != [0; 3]).then_some(self.marks)
    }

    pub(crate) fn on_ack_sent(&mut self) {
        self.waiting = 0;
        self.at_once = false;
        self.due = None;
        self.told = self.ranges.highest();
    }

    /// The peer has an ACK frame that reached up to `largest`: what that told need not be told
    /// again. RFC 9000 §13.2.4.
    pub(crate) fn on_ack_acked(&mut self, largest: u64) {
        self.known = self.known.max(largest.saturating_add(1));
    }

    /// An ACK_FREQUENCY frame. Those that come after a newer one are ignored.
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

    /// An IMMEDIATE_ACK frame.
    pub(crate) fn ask_now(&mut self) {
        self.at_once = true;
    }
}
