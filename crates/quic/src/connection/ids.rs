//! Our connection ids: issued, announced, retired. RFC 9000 §5.1.

use std::net::SocketAddr;

use bytes::Bytes;
use roundtrip_wire::quic::{ConnectionId, Frame, Pen, Version};

use super::opening::Issuer;
use crate::error::TransportError;
use crate::sent::SentFrame;
use crate::{Code, Time};

/// The largest number of our ids that are valid at once, even if the peer is willing to store more.
const ISSUED: u64 = 4;
/// The largest number of ids that a connection issues in its life: ids hold eight bits of their
/// sequence number.
const MAX_EVER: u64 = 1 << 8;
/// The size of the longest NEW_CONNECTION_ID.
pub(super) const MAX_FRAME: usize = 1 + 8 + 8 + 1 + 20 + 16;

/// Our ids: the peer writes them into its packets.
#[derive(Debug)]
pub(crate) struct LocalIds {
    issuer: Box<dyn Issuer>,
    /// The next sequence number.
    next: u64,
    active: Vec<u64>,
    /// The number of ids that the peer is willing to store.
    limit: u64,
    first: ConnectionId,
    /// The ids that NEW_CONNECTION_ID is to announce, by sequence number.
    unannounced: Vec<u64>,
    /// The ids whose announcement is not acknowledged, by sequence number: [`ISSUED`] at most, so
    /// that a peer that retires whatever it gets cannot cause more in a round trip.
    unacknowledged: Vec<u64>,
    /// One more than the highest sequence number that has left in a packet.
    sent: u64,
    /// The id that the peer used when it was last seen to move.
    used: u64,
}

impl LocalIds {
    pub(crate) fn new(issuer: Box<dyn Issuer>) -> Self {
        let (first, _) = issuer.id(0);
        Self {
            issuer,
            next: 1,
            active: vec![0],
            limit: 0,
            first,
            unannounced: Vec::new(),
            unacknowledged: Vec::new(),
            sent: 1,
            used: 0,
        }
    }

    /// The id that the handshake uses.
    pub(crate) fn first(&self) -> ConnectionId {
        self.first
    }

    /// Makes tokens for the next connections from that address.
    pub(crate) fn tokens(&mut self, version: Version, now: Time, remote: SocketAddr) -> Vec<Bytes> {
        self.issuer.tokens(version, now, remote)
    }

    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.limit = limit.min(ISSUED);
    }

    /// Makes as many ids as the peer is willing to store, to be announced. A peer that uses no ids
    /// gets none.
    pub(crate) fn issue(&mut self) {
        if self.first.is_empty() {
            return;
        }
        while (self.active.len() as u64) < self.limit
            && (self.unacknowledged.len() as u64) < ISSUED
            && self.next < MAX_EVER
        {
            self.active.push(self.next);
            self.unannounced.push(self.next);
            self.unacknowledged.push(self.next);
            self.next += 1;
        }
    }

    fn get(&self, sequence: u64) -> Option<(ConnectionId, [u8; 16])> {
        self.active
            .contains(&sequence)
            .then(|| self.issuer.id(sequence))
    }

    /// Records the id that the peer uses, and returns whether it differs from the one before.
    pub(crate) fn switch_to(&mut self, id: &[u8]) -> bool {
        let mut active = self.active.iter().copied();
        let found = active.find(|sequence| self.issuer.id(*sequence).0.as_slice() == id);
        let before = self.used;
        self.used = found.unwrap_or(before);
        self.used != before
    }

    /// Handles RETIRE_CONNECTION_ID: another id replaces the retired one. RFC 9000 §19.16.
    pub(crate) fn on_retired(&mut self, sequence: u64) -> Result<(), TransportError> {
        if sequence >= self.sent {
            return Err(TransportError::new(
                Code::PROTOCOL_VIOLATION,
                "it retired a connection id that was never sent",
            ));
        }
        self.active.retain(|active| *active != sequence);
        self.issue();
        Ok(())
    }

    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.unannounced.is_empty()
    }

    pub(crate) fn write(&mut self, pen: &mut Pen<'_>, items: &mut Vec<SentFrame>) {
        while pen.room() > MAX_FRAME
            && let Some(sequence) = self.unannounced.pop()
        {
            let Some((id, reset_token)) = self.get(sequence) else {
                continue;
            };
            let frame = Frame::NewConnectionId {
                sequence,
                retire_prior_to: 0,
                id,
                reset_token,
            };
            frame.write(pen);
            self.sent = self.sent.max(sequence + 1);
            items.push(SentFrame::NewConnectionId(sequence));
        }
    }

    pub(crate) fn on_announcement_acked(&mut self, sequence: u64) {
        self.unacknowledged.retain(|waiting| *waiting != sequence);
        self.issue();
    }

    pub(crate) fn on_announcement_lost(&mut self, sequence: u64) {
        if !self.active.contains(&sequence) {
            // The peer has retired the id, so the announcement arrived.
            self.on_announcement_acked(sequence);
        } else if !self.unannounced.contains(&sequence) {
            self.unannounced.push(sequence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> ConnectionId {
        ConnectionId::new(&[byte; 8]).unwrap()
    }

    #[derive(Debug)]
    struct Numbered;

    impl Issuer for Numbered {
        fn id(&self, sequence: u64) -> (ConnectionId, [u8; 16]) {
            (id(sequence as u8), [sequence as u8; 16])
        }

        fn tokens(&mut self, _version: Version, _now: Time, _remote: SocketAddr) -> Vec<Bytes> {
            Vec::new()
        }
    }

    fn local_ids() -> LocalIds {
        let mut ids = LocalIds::new(Box::new(Numbered));
        ids.set_limit(8);
        ids.issue();
        ids
    }

    /// Returns what leaves in one packet.
    fn announced(ids: &mut LocalIds) -> Vec<u64> {
        let mut items = Vec::new();
        ids.write(&mut Pen::new(&mut [0; 1000]), &mut items);
        let sequences = items.into_iter().map(|item| match item {
            SentFrame::NewConnectionId(sequence) => sequence,
            other => panic!("{other:?}"),
        });
        sequences.collect()
    }

    #[test]
    fn what_has_not_left_cannot_be_retired() {
        let mut ids = local_ids();
        let refused = ids.on_retired(1).unwrap_err();
        assert_eq!(refused.code, Code::PROTOCOL_VIOLATION);
        assert_eq!(announced(&mut ids).len(), 3);
        for sequence in 0..4 {
            ids.on_retired(sequence).unwrap();
        }
        assert!(ids.on_retired(4).is_err());
    }

    #[test]
    fn no_more_than_four_ids_wait_for_their_acknowledgement() {
        let mut ids = local_ids();
        let mut sent = announced(&mut ids);
        for sequence in 0..100 {
            if ids.on_retired(sequence).is_err() {
                break;
            }
            sent.extend(announced(&mut ids));
        }
        assert_eq!(sent.len(), 4);
        assert!(ids.unannounced.is_empty() && ids.unacknowledged.len() == 4);
        // One announcement is acknowledged; another is lost, but the peer has retired its id
        // meanwhile.
        ids.on_announcement_acked(sent[0]);
        assert_eq!(announced(&mut ids), [5]);
        ids.on_announcement_lost(sent[1]);
        assert_eq!(announced(&mut ids), [6]);
        ids.on_announcement_lost(6);
        assert_eq!(announced(&mut ids), [6]);
    }

    /// The ids run out before one is reused. RFC 9000 §5.1.
    #[test]
    fn no_id_is_issued_twice() {
        let mut ids = LocalIds::new(Box::new(Numbered));
        ids.set_limit(ISSUED);
        ids.issue();
        let mut issued = std::collections::HashSet::from([ids.first()]);
        for sequence in 0..1000 {
            let mut buffer = [0; 1200];
            let (mut pen, mut items) = (Pen::new(&mut buffer), Vec::new());
            ids.write(&mut pen, &mut items);
            for item in items {
                let SentFrame::NewConnectionId(sequence) = item else {
                    panic!("{item:?}");
                };
                let (id, _) = ids.get(sequence).unwrap();
                assert!(issued.insert(id), "{sequence}");
                ids.on_announcement_acked(sequence);
            }
            if ids.active.contains(&sequence) {
                ids.on_retired(sequence).unwrap();
            }
        }
        assert_eq!(issued.len() as u64, MAX_EVER);
    }
}
