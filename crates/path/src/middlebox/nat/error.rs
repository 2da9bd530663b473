//! Translates ICMP errors, which quote a packet as the other side of the box knows it (RFC 5508
//! §4).

use std::time::Duration;

use roundtrip_wire::packet::{Packet, PacketMut};

use super::{Nat, Translated, put, put_end};
use crate::direction::Direction;
use crate::flow::Flow;

/// Length of an ICMP error's header, before the quoted packet.
const HEADER: usize = 8;

/// Translates the quoted packet, and the outer address if it is that of the client.
pub(super) fn translate(nat: &mut Nat, ip: &mut [u8], way: Direction, at: Duration) -> Translated {
    let read = Packet::parse(ip).ok()?;
    // The checksum is recomputed below, which must not hide that it was invalid (RFC 5508 REQ-3).
    if read.checksum_is_right() != Some(true) {
        return None;
    }
    let outer_end = match way {
        Direction::Up => read.source(),
        Direction::Down => read.destination(),
    };
    let quoted = ip.get_mut(read_at(ip)?..)?;
    let mut inner = PacketMut::parse(quoted).ok()?;
    // The quoted packet went in the other direction.
    let back = way.opposite();
    let flow = Flow::from_packet(&inner.view(), back)?;
    let end = match way {
        Direction::Up => nat.outside(flow, at)?,
        Direction::Down => nat.inside(flow, at)?,
    };
    put_end(&mut inner, back, flow, end)?;
    let mut outer = PacketMut::parse(ip).ok()?;
    // Errors from routers on the path have the router's address.
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
