//! Processes ACK frames. RFC 9002 §A.7.

use std::ops::RangeInclusive;
use std::time::Duration;

use roundtrip_wire::quic::Ack;

use super::ecn::EcnFeedback;
use super::feedback::Feedback;
use super::ledger::{Ledger, SettleOutput, Settled};
use super::{HandshakeProgress, Recovery, Time};
use crate::congestion::Acknowledged;
use crate::error::{Code, TransportError};
use crate::space::Space;

/// The time and the space of an ACK frame, and the progress of the handshake at that time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckContext {
    pub(crate) now: Time,
    pub(crate) space: Space,
    /// The peer's reported acknowledgement delay.
    pub(crate) delay: Duration,
    pub(crate) progress: HandshakeProgress,
}

impl Recovery {
    /// Settles what an ACK frame acknowledges. RFC 9002 §A.7.
    pub(crate) fn on_ack(
        &mut self,
        context: &AckContext,
        ack: &Ack<'_>,
        feedback: &mut Feedback,
    ) -> Result<(), TransportError> {
        self.on_ranges(context, ack.ranges(), ack.ecn, feedback)
    }

    /// Takes the ranges of an ACK frame from the highest down, and the counts of ECT(0), ECT(1) and
    /// CE if it has them.
    pub(crate) fn on_ranges(
        &mut self,
        context: &AckContext,
        ranges: impl IntoIterator<Item = RangeInclusive<u64>>,
        ecn: Option<[u64; 3]>,
        feedback: &mut Feedback,
    ) -> Result<(), TransportError> {
        self.end_burst();
        let &AckContext { now, space, .. } = context;
        let index = space.index();
        let mut ranges = ranges.into_iter().peekable();
        let Some(largest) = ranges.peek().map(|range| *range.end()) else {
            return Ok(());
        };
        let ledger = &mut self.spaces[index];
        if largest >= ledger.next() {
            return Err(TransportError::new(
                Code::PROTOCOL_VIOLATION,
                "it acknowledges a packet that was never sent",
            ));
        }
        let grows = ledger.largest_acked.is_none_or(|before| largest > before);
        ledger.largest_acked = ledger.largest_acked.max(Some(largest));
        let mut settled = Settled::default();
        let mut told = SettleOutput {
            space,
            items: &mut self.items,
            feedback,
            reordering: &mut self.reordering,
            largest,
        };
        for range in ranges {
            if *range.end() < ledger.ring.first() {
                break;
            }
            ledger.settle(range, &mut settled, &mut told)?;
        }
        ledger.eliciting -= settled.eliciting;
        ledger.silent -= settled.packets - settled.eliciting;
        self.in_flight -= settled.bytes;
        if settled.packets + settled.spurious > 0 {
            let sample = self.sample(context, largest, &settled);
            if grows {
                self.hear_marks(now, space, ecn, &settled);
            }
            self.conclude(context, &settled, sample, feedback);
        }
        Ok(())
    }

    /// RFC 9002 §5.1: only if the largest number is new, and something newly acknowledged asked for
    /// the acknowledgement.
    fn sample(
        &mut self,
        context: &AckContext,
        largest: u64,
        settled: &Settled,
    ) -> Option<Duration> {
        let &AckContext { now, space, .. } = context;
        let (newest, burst) = settled.newest?;
        let old_path = space == Space::Data && newest < self.path_start;
        if newest != largest || settled.eliciting == 0 || old_path {
            return None;
        }
        let delay = match space {
            Space::Initial => Duration::ZERO,
            _ if context.progress.is_confirmed => context.delay.min(self.max_ack_delay),
            _ => context.delay,
        };
        let sample = now.since(self.bursts.get(burst).time);
        Some(self.rtt.on_sample(now, sample, delay))
    }

    fn hear_marks(&mut self, now: Time, space: Space, counts: Option<[u64; 3]>, settled: &Settled) {
        let report = EcnFeedback {
            space,
            counts,
            acked: settled.marked,
            sent: self.spaces[space.index()].marked,
        };
        let congested = self.ecn.on_report(&report);
        self.counters.congestion_marks += congested;
        if let Some((_, burst)) = settled.newest
            && congested > 0
        {
            let sent = self.bursts.get(burst).time;
            self.controller.on_marked(now, sent);
            self.reordering.close_episode();
        }
    }

    /// Reports to the congestion controller: losses first, then what arrived, each in one call. RFC
    /// 9002 §A.7.
    fn conclude(
        &mut self,
        context: &AckContext,
        settled: &Settled,
        sample: Option<Duration>,
        feedback: &mut Feedback,
    ) {
        let &AckContext { now, space, .. } = context;
        if let Some((_, burst)) = settled.latest {
            let took = now.since(self.bursts.get(burst).time);
            self.reordering.on_took(took, self.rtt.loss_delay());
        }
        if settled.undone {
            self.controller.on_spurious();
        }
        self.detect_losses(now, space, feedback);
        if let Some((number, burst)) = settled.newest {
            feedback.newest = feedback.newest.max(Some(number));
            let after = now.since(self.bursts.get(burst).time);
            self.acked_after = sample.unwrap_or(after);
            if settled.bytes > 0 {
                let acknowledged = self.acknowledged(now, settled, burst, sample);
                self.controller.on_acknowledged(&acknowledged);
            }
            // A server may acknowledge an Initial and still be unable to send, so the client's
            // back-off continues. RFC 9002 §6.2.1.
            if context.progress.is_peer_validated {
                self.ptos_in_a_row = 0;
            }
        }
        self.anchor = now;
        feedback.acked_packets += settled.packets;
        feedback.spurious += settled.spurious;
        feedback.acked_size = feedback.acked_size.max(settled.size);
        self.counters.spurious += settled.spurious;
        self.compact(now, space);
    }

    fn acknowledged(
        &mut self,
        now: Time,
        settled: &Settled,
        burst: u32,
        sample: Option<Duration>,
    ) -> Acknowledged {
        let burst = *self.bursts.get(burst);
        let bytes = settled.bytes + settled.late_bytes;
        let (round_ended, rate) = self.delivery.on_delivered(now, bytes, &burst);
        Acknowledged {
            now,
            bytes: settled.bytes,
            sent: burst.time,
            in_flight: self.in_flight,
            app_limited: burst.app_limited && !self.is_used(burst.in_flight),
            sample,
            smoothed: self.rtt.smoothed(),
            delivered: self.delivery.delivered,
            rate,
            round_ended,
        }
    }

    /// Whether a sender uses the window. One that fills most of it now and then may have more:
    /// applications write in pieces. RFC 9002 §7.8.
    fn is_used(&self, in_flight: u64) -> bool {
        let window = self.controller.window();
        let enough = if self.controller.is_slow_start() {
            window / 2
        } else {
            window / 8 * 7
        };
        in_flight >= enough
    }

    fn compact(&mut self, now: Time, space: Space) {
        let kept = self.rtt.pto() * 3;
        let bursts = &self.bursts;
        let is_recent = |burst| now.since(bursts.get(burst).time) < kept;
        self.spaces[space.index()].compact(is_recent);
        self.release_bursts();
    }

    pub(super) fn release_bursts(&mut self) {
        let oldest = |ledger: &Ledger| ledger.oldest_burst(&self.bursts);
        let oldest = self.spaces.iter().map(oldest);
        if let Some(oldest) = oldest.max_by_key(|burst| self.bursts.age(*burst)) {
            self.bursts.release(oldest);
        }
    }
}
