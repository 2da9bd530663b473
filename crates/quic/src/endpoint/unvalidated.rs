//! Limits the cost of clients that have not validated their address, and so may not exist: their
//! number, how many begin within a time window, and what remains of those that have ended. RFC 9000
//! §8.1.

use std::collections::VecDeque;
use std::net::SocketAddr;

use roundtrip_wire::quic::ConnectionId;

use crate::Time;

/// If as many clients as may exist at once began within this time without validating their address,
/// further clients have to validate theirs first.
const WINDOW_NANOS: u64 = 250_000_000;
/// How many clients are remembered after their end. A client's first flight may outlast its
/// connection, and the rest of it must not begin another.
const MAX_ENDED: usize = 256;

/// The address of a client's first packets, and their original destination id.
pub(super) type First = (SocketAddr, ConnectionId);

#[derive(Debug, Default)]
pub(super) struct UnvalidatedClients {
    count: usize,
    /// The time at which the budget for new clients is full again, and the cost of one new client.
    spent_until: Time,
    price_nanos: u64,
    ended: VecDeque<(First, Vec<u8>)>,
}

impl UnvalidatedClients {
    /// Returns true if another client may begin; `most` may exist at once. Each client costs budget
    /// until it validates its address, because even a packet that is not from a client costs work.
    pub(super) fn admits(&mut self, now: Time, most: usize) -> bool {
        if self.count >= most {
            return false;
        }
        self.price_nanos = WINDOW_NANOS / most as u64;
        let full_at = self.spent_until.max(now).0 + self.price_nanos;
        let is_left = full_at <= now.0.saturating_add(WINDOW_NANOS);
        if is_left {
            self.spent_until = Time(full_at);
        }
        is_left
    }

    pub(super) fn begin(&mut self) {
        self.count += 1;
    }

    /// Notes that a client has validated its address.
    pub(super) fn prove(&mut self) {
        self.count = self.count.saturating_sub(1);
        self.spent_until = Time(self.spent_until.0.saturating_sub(self.price_nanos));
    }

    /// A client has ended; `farewell` is its closing datagram, or empty.
    pub(super) fn end(&mut self, first: First, farewell: Vec<u8>) {
        self.count = self.count.saturating_sub(1);
        if self.ended.len() >= MAX_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back((first, farewell));
    }

    /// The closing datagram of a client that has ended.
    pub(super) fn farewell(&self, first: &First) -> Option<&[u8]> {
        let ended = self.ended.iter().find(|(ended, _)| ended == first);
        ended.map(|(_, farewell)| &**farewell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(port: u16) -> First {
        let id = ConnectionId::new(&[7; 8]).unwrap();
        (SocketAddr::from(([192, 0, 2, 1], port)), id)
    }

    #[test]
    fn beginnings_are_bounded_by_what_is_there_and_by_time() {
        let mut unvalidated = UnvalidatedClients::default();
        assert!(!unvalidated.admits(Time(1), 0));
        let begun = |unvalidated: &mut UnvalidatedClients, now| {
            (0..1000)
                .filter(|_| unvalidated.admits(Time(now), 100))
                .count()
        };
        // Each of them ends at once.
        assert_eq!(begun(&mut unvalidated, 1), 100);
        assert_eq!(begun(&mut unvalidated, 1), 0);
        assert_eq!(begun(&mut unvalidated, 1 + WINDOW_NANOS / 2), 50);
        assert_eq!(begun(&mut unvalidated, u64::MAX / 2), 100);
        // These do not end.
        let later = u64::MAX / 2 + 10 * WINDOW_NANOS;
        (0..100).for_each(|_| unvalidated.begin());
        assert_eq!(begun(&mut unvalidated, later), 0);
        unvalidated.prove();
        assert!(unvalidated.admits(Time(later), 100));
    }

    #[test]
    fn clients_that_validate_their_address_cost_no_budget() {
        let mut unvalidated = UnvalidatedClients::default();
        for _ in 0..1000 {
            assert!(unvalidated.admits(Time(1), 3));
            unvalidated.begin();
            unvalidated.prove();
        }
    }

    #[test]
    fn little_is_left_of_those_that_have_ended() {
        let mut unvalidated = UnvalidatedClients::default();
        for port in 0..2000 {
            unvalidated.begin();
            unvalidated.end(first(port), vec![1, 2]);
        }
        assert_eq!((unvalidated.count, unvalidated.ended.len()), (0, MAX_ENDED));
        assert_eq!(unvalidated.farewell(&first(1999)), Some(&[1, 2][..]));
        assert_eq!(unvalidated.farewell(&first(1)), None);
    }
}
