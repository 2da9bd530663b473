//! Reports the outcome of packets to the owners of their contents: acknowledged, or lost.

use super::FrameOwners;
use crate::crypto::Level;
use crate::recovery::Feedback;
use crate::sent::SentFrame;
use crate::space::Space;

impl FrameOwners<'_> {
    /// Tells each owner the outcome of its frames.
    pub(in crate::connection) fn on_settled(&mut self, feedback: &Feedback) {
        for chunk in &feedback.acked {
            self.streams.on_acked(chunk);
        }
        for chunk in &feedback.lost {
            self.streams.on_lost(chunk);
        }
        for (space, item) in &feedback.acked_items {
            self.on_item_acked(*space, item);
        }
        for (space, item) in &feedback.lost_items {
            self.on_item_lost(*space, item);
        }
        self.stats.packets_lost += feedback.lost_packets;
        self.stats.bytes_lost += feedback.lost_bytes;
        if feedback.lost_bytes > 0 {
            self.stats.lost_after = feedback.lost_after;
        }
        self.stats.spurious += feedback.spurious;
        self.recovery.on_sizes(feedback);
    }

    fn on_item_acked(&mut self, space: Space, item: &SentFrame) {
        match *item {
            SentFrame::Crypto { offset, length } => {
                self.crypto
                    .on_acked(Level::from_space(space), offset, u64::from(length));
            }
            SentFrame::Stream(chunk) => self.streams.on_acked(&chunk),
            SentFrame::Ack { largest } => self.received[space.index()].on_ack_acked(largest),
            SentFrame::RetireConnectionId(_) => self.remote_ids.on_retirement_acked(),
            SentFrame::NewConnectionId(sequence) => self.local_ids.on_announcement_acked(sequence),
            SentFrame::MtuProbe(size) => self.recovery.on_mtu_probe_acked(size),
            SentFrame::AckFrequency(sequence) => {
                if let Some(delay) = self.ack_frequency.on_acked(sequence) {
                    self.recovery.set_max_ack_delay(delay);
                }
            }
            SentFrame::NewToken(_)
            | SentFrame::HandshakeDone
            | SentFrame::PathChallenge(_)
            | SentFrame::PathResponse
            | SentFrame::Ping => {}
            _ => self.streams.on_item_acked(item),
        }
    }

    fn on_item_lost(&mut self, space: Space, item: &SentFrame) {
        match *item {
            SentFrame::Crypto { offset, length } => {
                self.crypto
                    .on_lost(Level::from_space(space), offset, u64::from(length));
            }
            SentFrame::Stream(chunk) => self.streams.on_lost(&chunk),
            SentFrame::NewConnectionId(sequence) => self.local_ids.on_announcement_lost(sequence),
            SentFrame::RetireConnectionId(sequence) => self.remote_ids.on_retirement_lost(sequence),
            SentFrame::NewToken(which) => self.control.on_token_lost(which),
            SentFrame::HandshakeDone => self.control.on_handshake_done_lost(),
            SentFrame::AckFrequency(sequence) => self.ack_frequency.on_lost(sequence),
            SentFrame::PathChallenge(data) => self.paths.on_challenge_lost(data),
            SentFrame::MtuProbe(size) => self.recovery.on_mtu_probe_lost(size),
            // A later acknowledgement contains more, and an unanswered challenge is sent again.
            SentFrame::Ack { .. } | SentFrame::PathResponse | SentFrame::Ping => {}
            _ => self.streams.on_item_lost(item),
        }
    }
}
