//! The connection ids of both sides: issued, used, retired. RFC 9000 §5.1.

use std::net::SocketAddr;

use bytes::Bytes;
use roundtrip_wire::quic::{ConnectionId, Frame, Pen, Version};

use super::opening::Issuer;
use crate::error::TransportError;
use crate::sent::SentFrame;
use crate::{Code, Time};

/// The most ids of the peer that are kept: what `active_connection_id_limit` promises.
pub(crate) const KEPT: u64 = 4;
/// The most ids of our own that are valid at once, even if the peer would keep more.
const ISSUED: u64 = 4;
/// The most ids that a connection issues in its life: ids hold eight bits of their sequence number.
const MAX_EVER: u64 = 1 << 8;
/// The most retirements that wait for an acknowledgement. RFC 9000 §5.1.2.
const RETIRING: usize = 3 * KEPT as usize;
/// The size of the longest NEW_CONNECTION_ID.
const MAX_FRAME: usize = 1 + 8 + 8 + 1 + 20 + 16;

/// Our ids: the peer writes them into its packets.
#[derive(Debug)]
pub(crate) struct LocalIds {
    issuer: Box<dyn Issuer>,
    /// The next sequence number.
    next: u64,
    active: Vec<u64>,
    /// How many ids the peer keeps.
    limit: u64,
    first: ConnectionId,
    /// The ids that NEW_CONNECTION_ID is to announce, by sequence number.
    unannounced: Vec<u64>,
    /// The ids whose announcement is not acknowledged, by sequence number: [`ISSUED`] at most, so
    /// that a peer that retires whatever it gets cannot cause more in a round trip.
    unacknowledged: Vec<u64>,
    /// One above the highest sequence number that has left in a packet.
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

    /// Makes as many ids as the peer keeps, to be announced. A peer that uses no ids gets none.
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

    /// Whether the peer uses another id than when it last moved; this counts as a move.
    pub(crate) fn is_another(&mut self, id: &[u8]) -> bool {
        let mut active = self.active.iter().copied();
        let found = active.find(|sequence| self.issuer.id(*sequence).0.as_slice() == id);
        let before = self.used;
        self.used = found.unwrap_or(before);
        self.used != before
    }

    /// RETIRE_CONNECTION_ID: another id replaces the retired one. RFC 9000 §19.16.
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

#[derive(Debug, Clone, Copy)]
struct RemoteId {
    sequence: u64,
    id: ConnectionId,
    /// `None` for the first id of a client.
    reset_token: Option<[u8; 16]>,
}

/// The peer's ids: our packets carry them.
#[derive(Debug)]
pub(crate) struct RemoteIds {
    current: RemoteId,
    spare: Vec<RemoteId>,
    /// Ids below this are not to be used. RFC 9000 §19.15.
    retire_prior_to: u64,
    /// The ids that RETIRE_CONNECTION_ID is to retire, by sequence number.
    retired: Vec<u64>,
    /// How many retirements the peer has not acknowledged.
    retiring: usize,
}

impl RemoteIds {
    pub(crate) fn new(id: ConnectionId) -> Self {
        Self {
            current: RemoteId {
                sequence: 0,
                id,
                reset_token: None,
            },
            spare: Vec::new(),
            retire_prior_to: 0,
            retired: Vec::new(),
            retiring: 0,
        }
    }

    pub(crate) fn current(&self) -> &ConnectionId {
        &self.current.id
    }

    /// The first id changes during the handshake: by Retry, and by the server's first packet. RFC
    /// 9000 §7.2.
    pub(crate) fn set_first(&mut self, id: ConnectionId) {
        self.current.id = id;
    }

    pub(crate) fn set_first_token(&mut self, token: [u8; 16]) {
        if self.current.sequence == 0 {
            self.current.reset_token = Some(token);
        }
    }

    /// RFC 9000 §10.3.1.
    pub(crate) fn is_reset_token(&self, token: &[u8; 16]) -> bool {
        self.current.reset_token.as_ref().is_some_and(|own| {
            aws_lc_rs::constant_time::verify_slices_are_equal(own, token).is_ok()
        })
    }

    /// NEW_CONNECTION_ID. RFC 9000 §19.15.
    pub(crate) fn add(
        &mut self,
        sequence: u64,
        retire_prior_to: u64,
        id: ConnectionId,
        reset_token: [u8; 16],
    ) -> Result<(), TransportError> {
        if self.current.id.is_empty() {
            return Err(TransportError::new(
                Code::PROTOCOL_VIOLATION,
                "it uses no connection ids, but sent one",
            ));
        }
        if let Some(known) = self.find(sequence) {
            if known.id != id {
                return Err(TransportError::new(
                    Code::PROTOCOL_VIOLATION,
                    "it gave two connection ids the same sequence number",
                ));
            }
        } else if sequence < self.retire_prior_to.max(self.current.sequence) {
            // It came late, or again after it was retired: ids are used in order.
            self.retire(sequence);
        } else {
            self.spare.push(RemoteId {
                sequence,
                id,
                reset_token: Some(reset_token),
            });
        }
        if retire_prior_to > self.retire_prior_to {
            self.retire_prior_to = retire_prior_to;
            self.drop_old();
        }
        if self.spare.len() as u64 >= KEPT || self.retiring > RETIRING {
            return Err(TransportError::new(
                Code::CONNECTION_ID_LIMIT_ERROR,
                "it issued more connection ids than the limit allows",
            ));
        }
        Ok(())
    }

    fn find(&self, sequence: u64) -> Option<&RemoteId> {
        std::iter::once(&self.current)
            .chain(&self.spare)
            .find(|known| known.sequence == sequence)
    }

    fn drop_old(&mut self) {
        let bound = self.retire_prior_to;
        let old: Vec<u64> = self
            .spare
            .iter()
            .map(|spare| spare.sequence)
            .filter(|sequence| *sequence < bound)
            .collect();
        self.spare.retain(|spare| spare.sequence >= bound);
        for sequence in old {
            self.retire(sequence);
        }
        if self.current.sequence < bound {
            self.renew();
        }
    }

    fn retire(&mut self, sequence: u64) {
        if !self.retired.contains(&sequence) {
            self.retiring += 1;
            self.retired.push(sequence);
        }
    }

    /// Switches to the next id and retires the current one; returns false if there is no next one.
    pub(crate) fn renew(&mut self) -> bool {
        let oldest = (0..self.spare.len()).min_by_key(|at| self.spare.get(*at).map(|s| s.sequence));
        let Some(at) = oldest else {
            return false;
        };
        let next = self.spare.swap_remove(at);
        let old = std::mem::replace(&mut self.current, next);
        self.retire(old.sequence);
        true
    }

    #[cfg(test)]
    fn has_spare(&self) -> bool {
        !self.spare.is_empty()
    }

    pub(crate) fn on_retirement_acked(&mut self) {
        self.retiring = self.retiring.saturating_sub(1);
    }

    pub(crate) fn on_retirement_lost(&mut self, sequence: u64) {
        if !self.retired.contains(&sequence) {
            self.retired.push(sequence);
        }
    }

    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.retired.is_empty()
    }

    pub(crate) fn write(&mut self, pen: &mut Pen<'_>, items: &mut Vec<SentFrame>) {
        while pen.room() > MAX_FRAME
            && let Some(sequence) = self.retired.pop()
        {
            Frame::RetireConnectionId(sequence).write(pen);
            items.push(SentFrame::RetireConnectionId(sequence));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> ConnectionId {
        ConnectionId::new(&[byte; 8]).unwrap()
    }

    fn ids(known: u8) -> RemoteIds {
        let mut ids = RemoteIds::new(id(0));
        for byte in 1..=known {
            ids.add(u64::from(byte), 0, id(byte), [byte; 16]).unwrap();
        }
        ids
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

    #[test]
    fn ids_are_taken_into_use_in_their_order() {
        let mut ids = ids(2);
        assert!(ids.renew());
        assert_eq!((*ids.current(), &ids.retired[..]), (id(1), &[0][..]));
        assert!(ids.is_reset_token(&[1; 16]) && !ids.is_reset_token(&[2; 16]));
        assert!(ids.renew());
        assert!(!ids.renew(), "none is left");
        assert_eq!((*ids.current(), &ids.retired[..]), (id(2), &[0, 1][..]));
    }

    #[test]
    fn a_retired_id_that_is_announced_again_is_not_taken_back() {
        let mut ids = ids(2);
        ids.renew();
        ids.renew();
        ids.retired.clear();
        ids.add(1, 0, id(1), [1; 16]).unwrap();
        assert!(!ids.has_spare());
        assert_eq!(ids.retired, [1]);
    }

    #[test]
    fn the_peer_takes_back_what_it_likes() {
        let mut ids = ids(2);
        ids.add(3, 3, id(3), [3; 16]).unwrap();
        assert_eq!(*ids.current(), id(3));
        ids.retired.sort_unstable();
        assert_eq!(ids.retired, [0, 1, 2]);
        // An id that was in transit meanwhile.
        ids.add(2, 0, id(2), [2; 16]).unwrap();
        assert_eq!(*ids.current(), id(3));
        assert!(!ids.has_spare());
    }

    /// The ids run out before one is reused. RFC 9000 §5.1.
    #[test]
    fn no_id_is_issued_twice() {
        let mut ids = LocalIds::new(Box::new(Numbered));
        ids.set_limit(KEPT);
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

    #[test]
    fn retirements_that_are_never_acknowledged_have_an_end() {
        let mut ids = ids(0);
        let result = (1..100).try_for_each(|sequence| {
            ids.retired.clear();
            ids.add(sequence, sequence, id(sequence as u8), [0; 16])
        });
        assert_eq!(result.unwrap_err().code, Code::CONNECTION_ID_LIMIT_ERROR);
    }
}
