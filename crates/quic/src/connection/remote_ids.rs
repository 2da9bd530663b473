//! The peer's connection ids: our packets carry them. RFC 9000 §5.1.

use std::net::SocketAddr;

use roundtrip_wire::quic::{ConnectionId, Frame, Pen};

use super::ids::MAX_FRAME;
use crate::Code;
use crate::error::TransportError;
use crate::sent::SentFrame;

/// The number of the peer's ids that are kept, announced as `active_connection_id_limit`.
pub(crate) const KEPT: u64 = 4;
/// The largest number of ids for packets to addresses other than the current one.
const MAX_ELSEWHERE: usize = 2;
/// The largest number of retirements that wait for an acknowledgement. RFC 9000 §5.1.2.
const RETIRING: usize = 3 * KEPT as usize;

#[derive(Debug, Clone, Copy)]
struct RemoteId {
    sequence: u64,
    id: ConnectionId,
    /// The token of a stateless reset for this id; `None` for the first id of a client.
    reset_token: Option<[u8; 16]>,
}

/// The peer's ids. `receiving` and `timers` call [`Self::move_to`] when the peer's address changes,
/// and [`Self::settle`] when it has been validated.
#[derive(Debug)]
pub(crate) struct RemoteIds {
    current: RemoteId,
    spare: Vec<RemoteId>,
    /// The ids in packets to other addresses. Each address has a different id, so that an observer
    /// cannot link them. RFC 9000 §9.5.
    elsewhere: Vec<(SocketAddr, RemoteId)>,
    /// Ids below this must not be used. RFC 9000 §19.15.
    retire_prior_to: u64,
    /// The ids that RETIRE_CONNECTION_ID is to retire, by sequence number.
    retired: Vec<u64>,
    /// The number of retirements that the peer has not acknowledged.
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
            elsewhere: Vec::new(),
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
        let elsewhere = self.elsewhere.iter().map(|(_, id)| id);
        let mut tokens = std::iter::once(&self.current)
            .chain(elsewhere)
            .filter_map(|id| id.reset_token.as_ref());
        tokens.any(|own| aws_lc_rs::constant_time::verify_slices_are_equal(own, token).is_ok())
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
        let others = self.spare.len() + self.elsewhere.len();
        if others as u64 >= KEPT || self.retiring > RETIRING {
            return Err(TransportError::new(
                Code::CONNECTION_ID_LIMIT_ERROR,
                "it issued more connection ids than the limit allows",
            ));
        }
        Ok(())
    }

    fn find(&self, sequence: u64) -> Option<&RemoteId> {
        let elsewhere = self.elsewhere.iter().map(|(_, id)| id);
        std::iter::once(&self.current)
            .chain(&self.spare)
            .chain(elsewhere)
            .find(|known| known.sequence == sequence)
    }

    fn drop_old(&mut self) {
        let bound = self.retire_prior_to;
        let mut old = Vec::new();
        self.spare.retain(|spare| {
            let is_old = spare.sequence < bound;
            old.extend(is_old.then_some(spare.sequence));
            !is_old
        });
        self.elsewhere.retain(|(_, id)| {
            let is_old = id.sequence < bound;
            old.extend(is_old.then_some(id.sequence));
            !is_old
        });
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

    /// Switches to the next id and retires the current one; returns false if there is no spare id.
    pub(crate) fn renew(&mut self) -> bool {
        let Some(next) = self.take_spare() else {
            return false;
        };
        let old = std::mem::replace(&mut self.current, next);
        self.retire(old.sequence);
        true
    }

    fn take_spare(&mut self) -> Option<RemoteId> {
        let oldest = (0..self.spare.len()).min_by_key(|at| self.spare.get(*at).map(|s| s.sequence));
        Some(self.spare.swap_remove(oldest?))
    }

    /// The id for a packet to an address other than the peer's current one. If there is no spare
    /// id, the one in use.
    pub(crate) fn id_for(&mut self, address: SocketAddr) -> ConnectionId {
        let known = self.elsewhere.iter().find(|(other, _)| *other == address);
        if let Some((_, known)) = known {
            return known.id;
        }
        let Some(next) = self.take_spare() else {
            return self.current.id;
        };
        self.keep_for(address, next);
        next.id
    }

    fn keep_for(&mut self, address: SocketAddr, id: RemoteId) {
        if self.elsewhere.len() >= MAX_ELSEWHERE {
            let (_, old) = self.elsewhere.remove(0);
            self.retire(old.sequence);
        }
        self.elsewhere.push((address, id));
    }

    /// Handles a move of the peer: the new address gets the id that was used there before, or a
    /// spare one if the two addresses `must_differ`. The old address keeps the current id.
    pub(crate) fn move_to(&mut self, left: SocketAddr, address: SocketAddr, must_differ: bool) {
        let known = self.elsewhere.iter().position(|(at, _)| *at == address);
        let next = match known {
            Some(at) => Some(self.elsewhere.remove(at).1),
            None if must_differ => self.take_spare(),
            None => None,
        };
        if let Some(next) = next {
            let old = std::mem::replace(&mut self.current, next);
            self.keep_for(left, old);
        }
    }

    /// Forgets the ids for other addresses: nothing is sent there any more.
    pub(crate) fn settle(&mut self) {
        for (_, id) in std::mem::take(&mut self.elsewhere) {
            self.retire(id.sequence);
        }
    }

    pub(crate) fn has_spare(&self) -> bool {
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

    #[test]
    fn retirements_that_are_never_acknowledged_have_an_end() {
        let mut ids = ids(0);
        let result = (1..100).try_for_each(|sequence| {
            ids.retired.clear();
            ids.add(sequence, sequence, id(sequence as u8), [0; 16])
        });
        assert_eq!(result.unwrap_err().code, Code::CONNECTION_ID_LIMIT_ERROR);
    }

    /// RFC 9000 §9.5.
    #[test]
    fn each_address_has_an_id_of_its_own() {
        let at = |port| SocketAddr::from(([192, 0, 2, 1], port));
        let mut ids = ids(3);
        assert_eq!((ids.id_for(at(2)), ids.id_for(at(2))), (id(1), id(1)));
        assert_eq!(ids.id_for(at(3)), id(2));
        ids.move_to(at(1), at(2), false);
        assert_eq!((*ids.current(), ids.id_for(at(1))), (id(1), id(0)));
        assert!(ids.retired.is_empty());
        ids.move_to(at(2), at(1), true);
        assert_eq!((*ids.current(), ids.id_for(at(2))), (id(0), id(1)));
        assert_eq!(ids.id_for(at(4)), id(3));
        assert_eq!(ids.retired, [2], "few are for other addresses");
        // None is left.
        assert_eq!(ids.id_for(at(5)), id(0));
        ids.retired.clear();
        ids.settle();
        assert_eq!(ids.retired, [1, 3]);
    }

    #[test]
    fn ids_for_other_addresses_count_and_are_taken_back() {
        let at = |port| SocketAddr::from(([192, 0, 2, 1], port));
        let mut ids = ids(3);
        ids.id_for(at(2));
        let more = ids.add(4, 0, id(4), [4; 16]);
        assert_eq!(more.unwrap_err().code, Code::CONNECTION_ID_LIMIT_ERROR);
        ids.add(5, 2, id(5), [5; 16]).unwrap();
        ids.retired.sort_unstable();
        assert_eq!(ids.retired, [0, 1]);
        assert_eq!(ids.id_for(at(2)), id(3));
    }
}
