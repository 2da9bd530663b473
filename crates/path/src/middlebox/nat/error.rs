//! ICMP errors, which quote the packet that they are about as the other side of the box knows it. RFC 5508 §4.

use std::time::Duration;

use roundtrip_wire::packet::{Packet, PacketMut};

use super::{Nat, Translated, put, put_end};
use crate::direction::Direction;
use crate::flow::Flow;

/// Of an ICMP error, before what it quotes.
const HEADER: usize = 8;

/// Translates what it quotes, and its own address where that is the client's.
pub(super) fn translate(nat: &mut Nat, ip: &mut [u8], way: Direction, at: Duration) -> Translated {
    let read = Packet::parse(ip).ok()?;
    // Its checksum is written anew below, which must not hide that it was wrong. RFC 5508 REQ-3.
    if read.checksum_is_right() != Some(true) {
        return None;
    }
    let outer_end = match way {
        Direction::Up => read.source(),
        Direction::Down => read.destination(),
    };
    let quoted = ip.get_mut(read_at(ip)?..)?;
    let mut inner = PacketMut::parse(quoted).ok()?;
    // It went the other way.
    let back = way.opposite();
    let flow = Flow::of(&inner.view(), back)?;
    let end = match way {
        Direction::Up => nat.outside(flow, at)?,
        Direction::Down => nat.inside(flow, at)?,
    };
    put_end(&mut inner, back, flow, end)?;
    let mut outer = PacketMut::parse(ip).ok()?;
    // A router on the way speaks in its own name.
    if outer_end == flow.client.ip() {
        put(&mut outer, way, end.ip())?;
    }
    let client = flow.client;
    outer
        .recompute_checksums()
        .then(|| format!("an error about {client} became one about {end}"))
}

fn read_at(ip: &[u8]) -> Option<usize> {
    Some(Packet::parse(ip).ok()?.header_length() + HEADER)
}
