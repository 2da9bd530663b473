//! Stores datagrams with 0-RTT packets that arrive before their client's Initial packet, for a
//! short time. RFC 9000 §5.2.2.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_wire::quic::ConnectionId;

use crate::{RecvMeta, Time};

/// The largest number of stored datagrams for all clients together. It is small because attackers
/// can fill this.
const MAX_DATAGRAMS: usize = 16;
const MAX_DATAGRAM_SIZE: usize = 2048;
/// How long a datagram is kept: after that, the Initial packet counts as lost.
const MAX_AGE: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct EarlyDatagrams(VecDeque<BufferedDatagram>);

#[derive(Debug)]
struct BufferedDatagram {
    of: (SocketAddr, ConnectionId),
    came: Time,
    way: RecvMeta,
    datagram: Vec<u8>,
}

impl EarlyDatagrams {
    pub(super) fn keep(
        &mut self,
        now: Time,
        way: &RecvMeta,
        destination: ConnectionId,
        datagram: &[u8],
    ) {
        self.forget(now);
        if self.0.len() < MAX_DATAGRAMS && datagram.len() <= MAX_DATAGRAM_SIZE {
            self.0.push_back(BufferedDatagram {
                of: (way.remote, destination),
                came: now,
                way: *way,
                datagram: datagram.to_vec(),
            });
        }
    }

    /// Takes the next datagram that waited for this client's first.
    pub(super) fn take(
        &mut self,
        now: Time,
        of: &(SocketAddr, ConnectionId),
    ) -> Option<(RecvMeta, Vec<u8>)> {
        self.forget(now);
        let place = self.0.iter().position(|kept| kept.of == *of)?;
        let kept = self.0.remove(place)?;
        Some((kept.way, kept.datagram))
    }

    fn forget(&mut self, now: Time) {
        let is_old = |kept: &mut BufferedDatagram| now.since(kept.came) > MAX_AGE;
        while self.0.pop_front_if(is_old).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_for_strangers_is_little_and_goes_to_its_own() {
        let way = |port: u16| RecvMeta {
            remote: SocketAddr::from(([192, 0, 2, 1], port)),
            local: None,
            ecn: 0,
        };
        let id = |byte| ConnectionId::new(&[byte; 8]).unwrap();
        let mut early = EarlyDatagrams::default();
        for port in 0..1000 {
            early.keep(Time::ZERO, &way(port), id(1), &[7]);
        }
        early.keep(Time::ZERO, &way(0), id(1), &[7; MAX_DATAGRAM_SIZE + 1]);
        assert_eq!(early.0.len(), MAX_DATAGRAMS);
        let mut take = |now, port, byte| {
            let of = (way(port).remote, id(byte));
            early.take(now, &of).map(|(_, datagram)| datagram)
        };
        assert_eq!(take(Time::ZERO, 3, 2), None);
        assert_eq!(take(Time::ZERO, 3, 1), Some(vec![7]));
        assert_eq!(take(Time::ZERO, 3, 1), None);
        let later = Time::ZERO.after(MAX_AGE * 2);
        assert_eq!(take(later, 4, 1), None);
        assert!(early.0.is_empty());
    }
}
