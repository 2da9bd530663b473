//! Where a QUIC connection was seen from, and how long the path is on either side of that place.

use roundtrip_wire::link::LinkDirection;

use super::QuicFlow;
use crate::segment::Side;
use crate::vantage::{AT_ONCE_QUIC, Vantage, VantagePoint};

/// A small difference: one part in this many.
const A_LITTLE: u64 = 5;

impl QuicFlow {
    pub(super) fn vantage(&self) -> Vantage {
        // Shows which packet an acknowledgement is for. If none of a side's acknowledgements could
        // be read, its first datagram after the peer's is timed instead.
        let first_of = |side: Side, after: u64| {
            let mut datagrams = self.datagrams.iter();
            datagrams
                .find(|d| d.from == side && d.at > after)
                .map(|d| d.at)
        };
        let asked = self.datagrams.first().map(|d| d.at);
        let answered = first_of(Side::Server, 0);
        let next = answered.and_then(|at| first_of(Side::Client, at));
        let between = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
        let [to_client, to_server] = [Side::Client, Side::Server].map(|side| {
            let best = self.shortest[side.index()]?;
            Some(self.sooner(side, best))
        });
        let to_server = to_server.or(between(asked, answered));
        let to_client = to_client.or(between(answered, next));
        let mut place = None;
        for datagram in &self.datagrams {
            place = match (datagram.from, datagram.way) {
                (_, None) => place,
                (Side::Client, Some(LinkDirection::Outgoing))
                | (Side::Server, Some(LinkDirection::Incoming)) => Some(VantagePoint::Client),
                _ => Some(VantagePoint::Server),
            };
        }
        let limit = |side: Side| {
            self.datagrams
                .iter()
                .find(|d| d.from == side)
                .map(|d| d.hop_limit)
        };
        let hops = limit(Side::Client).zip(limit(Side::Server));
        let halves = (to_client, to_server);
        Vantage::decide((halves, [false; 2]), AT_ONCE_QUIC, place, hops)
    }

    /// The shortest round trip to one side: `best`, or a slightly shorter time after which a
    /// datagram of that side followed one of its peer. Hosts answer the first packets late, so
    /// acknowledgements alone can show too long a time. After the handshake, a datagram counts only
    /// if it follows a silence of the peer, because others may answer something earlier.
    pub(super) fn sooner(&self, side: Side, best: u64) -> u64 {
        let mut shortest = best;
        let mut before: Option<u64> = None;
        let mut heard: Option<u64> = None;
        let mut opening = true;
        for datagram in &self.datagrams {
            let at = datagram.at;
            if datagram.from == side {
                let took = before.map(|before| at.saturating_sub(before));
                let is_near = |took: &u64| (best - best / A_LITTLE..shortest).contains(took);
                shortest = took.filter(is_near).unwrap_or(shortest);
                before = None;
            } else {
                let silence = heard.map_or(u64::MAX, |heard| at.saturating_sub(heard));
                let is_first = silence >= best - best / A_LITTLE;
                before = before.or((opening || is_first).then_some(at));
                heard = Some(at);
            }
            opening &= !(datagram.from == Side::Client && datagram.kinds.short);
        }
        shortest
    }
}
