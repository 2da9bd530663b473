//! Reports what became of packets to the owners of their contents: acknowledged, or lost.

use super::Connection;
use crate::crypto::Level;
use crate::recovery::{Feedback, Recovery};
use crate::sent::Item;
use crate::space::Space;

impl Connection {
    /// Lets recovery settle packets, and informs the owners of their contents.
    pub(super) fn settle<T>(
        &mut self,
        settle: impl FnOnce(&mut Recovery, &mut Feedback) -> T,
    ) -> T {
        let mut feedback = std::mem::take(&mut self.feedback);
        let outcome = settle(&mut self.recovery, &mut feedback);
        self.on_settled(&feedback);
        self.log_settled(&feedback);
        feedback.clear();
        self.feedback = feedback;
        outcome
    }

    fn on_settled(&mut self, feedback: &Feedback) {
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

    fn on_item_acked(&mut self, space: Space, item: &Item) {
        match *item {
            Item::Crypto { offset, length } => {
                self.crypto
                    .on_acked(level_of(space), offset, u64::from(length));
            }
            Item::Stream(chunk) => self.streams.on_acked(&chunk),
            Item::Ack { largest } => self.received[space.index()].on_ack_acked(largest),
            Item::RetireConnectionId(_) => self.remote_ids.on_retirement_acked(),
            Item::NewConnectionId(sequence) => self.local_ids.on_announcement_acked(sequence),
            Item::MtuProbe(size) => self.recovery.on_mtu_probe_acked(size),
            Item::AckFrequency(sequence) => {
                if let Some(delay) = self.ack_frequency.on_acked(sequence) {
                    self.recovery.set_max_ack_delay(delay);
                }
            }
            Item::NewToken(_)
            | Item::HandshakeDone
            | Item::PathChallenge(_)
            | Item::PathResponse
            | Item::Ping => {}
            _ => self.streams.on_item_acked(item),
        }
    }

    fn on_item_lost(&mut self, space: Space, item: &Item) {
        match *item {
            Item::Crypto { offset, length } => {
                self.crypto
                    .on_lost(level_of(space), offset, u64::from(length));
            }
            Item::Stream(chunk) => self.streams.on_lost(&chunk),
            Item::NewConnectionId(sequence) => self.local_ids.on_announcement_lost(sequence),
            Item::RetireConnectionId(sequence) => self.remote_ids.on_retirement_lost(sequence),
            Item::NewToken(which) => self.control.on_token_lost(which),
            Item::HandshakeDone => self.control.on_handshake_done_lost(),
            Item::AckFrequency(sequence) => self.ack_frequency.on_lost(sequence),
            Item::PathChallenge(data) => self.paths.on_challenge_lost(data),
            Item::MtuProbe(size) => self.recovery.on_mtu_probe_lost(size),
            // A later acknowledgement says more, and an unanswered challenge is sent again.
            Item::Ack { .. } | Item::PathResponse | Item::Ping => {}
            _ => self.streams.on_item_lost(item),
        }
    }
}

pub(super) fn level_of(space: Space) -> Level {
    match space {
        Space::Initial => Level::Initial,
        Space::Handshake => Level::Handshake,
        Space::Data => Level::OneRtt,
    }
}
