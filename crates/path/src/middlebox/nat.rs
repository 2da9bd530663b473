//! A large NAT with several addresses, as mobile carriers have: each connection leaves with another
//! address and port, so a fast-open cookie, which is valid for one address only, fails the next
//! time (RFC 7413 §4.1.3.1; RFC 6888). It translates TCP, UDP, echoes, their fragments and errors
//! about them. Nothing else passes, and no unsolicited packet comes in.

mod error;
mod pieces;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use roundtrip_wire::packet::{self as wire, PacketMut, TCP, UDP};

use self::pieces::FragmentTable;
use super::MiddleboxKind;
use crate::direction::Direction;
use crate::flow::{Flow, FlowTable, MAX_FLOWS};
use crate::hop::{Hop, HopOutput};
use crate::packet::Packet;

const NAME: &str = "nat";

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "gives each connection another source address and port, so fast-open cookies fail",
    argument: None,
    make: |_| Ok(Box::new(Nat::default())),
};

/// The number of the NAT's addresses, which start at 198.18.0.100 and 2001:2::100.
const ADDRESS_COUNT: u16 = 16;
pub(super) const FIRST_PORT: usize = 10_000;
pub(super) const PORT_COUNT: usize = 50_000;

/// How long a mapping without traffic is kept (RFC 5382 REQ-5, RFC 4787 REQ-5 and RFC 5508 REQ-2).
const TCP_LIFE: Duration = Duration::from_mins(124);
const UDP_LIFE: Duration = Duration::from_mins(5);
const ECHO_LIFE: Duration = Duration::from_mins(1);

/// A description of the translation; `None` if the packet cannot be translated, and is lost.
pub(super) type Translated = Option<String>;

#[derive(Default)]
struct Nat {
    /// The outside address of each flow, by the flow as the client knows it.
    outward: FlowTable<SocketAddr>,
    /// The inside address of each flow, by the flow as it is known outside.
    inward: FlowTable<SocketAddr>,
    pieces: FragmentTable,
    /// The number of connections. Nothing else is counted, so that consecutive connections never
    /// get the same address.
    connections: usize,
    others: usize,
}

impl Hop for Nat {
    fn pass(&mut self, mut packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        match self.translate(packet.ip_mut(), way, at) {
            Some(done) => {
                packet.remark(|| done);
                exit.forward(packet, way, at);
            }
            None => exit.lose(packet, way, NAME),
        }
    }
}

impl Nat {
    fn translate(&mut self, ip: &mut [u8], way: Direction, at: Duration) -> Translated {
        let read = wire::Packet::parse(ip).ok()?;
        if read.icmp().is_some_and(|message| message.is_error()) {
            return error::translate(self, ip, way, at);
        }
        let key = pieces::FragmentKey::from_packet(&read);
        if read.fragment().offset > 0 {
            let address = self.pieces.address(key)?;
            return put(&mut PacketMut::parse(ip).ok()?, way, address);
        }
        let flow = Flow::from_packet(&read, way)?;
        let end = match way {
            Direction::Up => self.outside(flow, at).or_else(|| self.map(flow, at))?,
            Direction::Down => self.inside(flow, at)?,
        };
        if read.fragment().more {
            self.pieces.remember(key, end.ip());
        }
        put_end(&mut PacketMut::parse(ip).ok()?, way, flow, end)
    }

    /// The outside address of a flow of the client.
    fn outside(&mut self, flow: Flow, at: Duration) -> Option<SocketAddr> {
        let life = life(flow.protocol);
        let outside = *self.outward.seen(&flow, at, life)?;
        let known_as = Flow {
            client: outside,
            ..flow
        };
        // One of the tables may have forgotten the flow.
        let inside = *self.inward.seen(&known_as, at, life)?;
        (inside == flow.client).then_some(outside)
    }

    /// The inside address of a flow that is known outside as `known_as`.
    fn inside(&mut self, known_as: Flow, at: Duration) -> Option<SocketAddr> {
        let life = life(known_as.protocol);
        let inside = *self.inward.seen(&known_as, at, life)?;
        let flow = Flow {
            client: inside,
            ..known_as
        };
        let outside = *self.outward.seen(&flow, at, life)?;
        (outside == known_as.client).then_some(inside)
    }

    /// Creates a mapping to the next free address and port. Echoes keep their identifier.
    fn map(&mut self, flow: Flow, at: Duration) -> Option<SocketAddr> {
        let life = life(flow.protocol);
        let count = match flow.protocol {
            TCP => &mut self.connections,
            _ => &mut self.others,
        };
        for _ in 0..=MAX_FLOWS {
            let number = *count;
            *count = count.wrapping_add(1);
            let port = if flow.has_ports() {
                u16::try_from(FIRST_PORT + number % PORT_COUNT).ok()?
            } else {
                flow.client.port()
            };
            let outside = SocketAddr::new(address(number, flow.client.is_ipv4()), port);
            let known_as = Flow {
                client: outside,
                ..flow
            };
            if self.inward.seen(&known_as, at, life).is_none() {
                self.outward.remember(flow, outside, at);
                self.inward.remember(known_as, flow.client, at);
                return Some(outside);
            }
        }
        None
    }
}

/// All addresses of the NAT, which the server's side needs as neighbours.
pub(crate) fn addresses() -> impl Iterator<Item = IpAddr> {
    let both = |is_v4| (0..usize::from(ADDRESS_COUNT)).map(move |number| address(number, is_v4));
    both(true).chain(both(false))
}

pub(super) fn address(number: usize, is_v4: bool) -> IpAddr {
    let place = (number % usize::from(ADDRESS_COUNT)) as u16;
    if is_v4 {
        Ipv4Addr::new(198, 18, 0, 100 + place as u8).into()
    } else {
        Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0x100 + place).into()
    }
}

fn life(protocol: u8) -> Duration {
    match protocol {
        TCP => TCP_LIFE,
        UDP => UDP_LIFE,
        _ => ECHO_LIFE,
    }
}

/// Replaces the client's address and port in a packet of this direction.
pub(super) fn put_end(
    packet: &mut PacketMut<'_>,
    way: Direction,
    flow: Flow,
    end: SocketAddr,
) -> Translated {
    let from = flow.client;
    put(packet, way, end.ip())?;
    let done = match way {
        _ if !flow.has_ports() => true,
        Direction::Up => packet.set_source_port(end.port()),
        Direction::Down => packet.set_destination_port(end.port()),
    };
    let side = match way {
        Direction::Up => "source",
        Direction::Down => "destination",
    };
    done.then(|| format!("{side} {from} became {end}"))
}

fn put(packet: &mut PacketMut<'_>, way: Direction, address: IpAddr) -> Translated {
    let done = match way {
        Direction::Up => packet.set_source(address),
        Direction::Down => packet.set_destination(address),
    };
    done.then(|| format!("a fragment's address became {address}"))
}

#[cfg(test)]
mod tests;
