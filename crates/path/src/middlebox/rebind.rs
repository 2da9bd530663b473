//! A NAT that repeatedly forgets the binding of each UDP flow while the flow is active: the next
//! packet leaves with another address and port, and packets to the old ones are lost. A client does
//! not notice; QUIC's connections survive it (RFC 9000 §9.3.1 and §9.4).

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_wire::packet::{self as wire, PacketMut, UDP};

use super::MiddleboxKind;
use super::nat::{FIRST_PORT, PORT_COUNT, address, put_end};
use crate::direction::Direction;
use crate::flow::{Flow, FlowTable};
use crate::hop::{Hop, HopOutput};
use crate::packet::Packet;
use roundtrip_model::parse_duration;

const NAME: &str = "rebind";
/// RFC 4787 REQ-5.
const LIFE: Duration = Duration::from_mins(5);

pub(super) const KIND: MiddleboxKind = MiddleboxKind {
    name: NAME,
    does: "gives each UDP flow another address and port every TIME; with `port`, only another port",
    argument: Some("TIME[,port]"),
    make: |argument| {
        let text = argument.unwrap_or_default();
        let (time, keeps_address) = match text.split_once(',') {
            None => (text, false),
            Some((time, "port")) => (time, true),
            Some((_, other)) => {
                return Err(format!(
                    "`{other}`: only `port` can follow the time, as in {NAME}:5s,port"
                ));
            }
        };
        Ok(Box::new(Rebind {
            interval: parse_duration(time)?,
            keeps_address,
            bindings: FlowTable::default(),
            inward: FlowTable::default(),
            count: 0,
        }))
    },
};

struct Rebind {
    interval: Duration,
    keeps_address: bool,
    /// Bindings by the flow as the client knows it.
    bindings: FlowTable<Binding>,
    /// The inside address of each flow, by the flow as it is known outside.
    inward: FlowTable<SocketAddr>,
    /// The number of changed bindings.
    count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Binding {
    outside: SocketAddr,
    since: Duration,
}

impl Hop for Rebind {
    fn pass(&mut self, mut packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        let flow = wire::Packet::parse(packet.ip())
            .ok()
            .and_then(|read| Flow::from_packet(&read, way))
            .filter(|flow| flow.protocol == UDP);
        let Some(flow) = flow else {
            return exit.forward(packet, way, at);
        };
        let end = match way {
            Direction::Up => self.bind(flow, at),
            Direction::Down => match self.inside(flow, at) {
                Some(inside) => inside,
                None => return exit.lose(packet, way, NAME),
            },
        };
        if end != flow.client
            && let Ok(mut parsed) = PacketMut::parse(packet.ip_mut())
            && let Some(done) = put_end(&mut parsed, way, flow, end)
        {
            packet.remark(|| done);
        }
        exit.forward(packet, way, at);
    }
}

impl Rebind {
    /// The outside address of a flow of the client: at first the client's own.
    fn bind(&mut self, flow: Flow, at: Duration) -> SocketAddr {
        let known = self.bindings.seen(&flow, at, LIFE).copied();
        let outside = match known {
            Some(binding) if at.saturating_sub(binding.since) < self.interval => {
                return binding.outside;
            }
            Some(_) => self.another(flow),
            None => flow.client,
        };
        let since = at;
        self.bindings.remember(flow, Binding { outside, since }, at);
        let known_as = Flow {
            client: outside,
            ..flow
        };
        self.inward.remember(known_as, flow.client, at);
        outside
    }

    fn another(&mut self, flow: Flow) -> SocketAddr {
        let number = self.count;
        self.count = number.wrapping_add(1);
        let ip = if self.keeps_address {
            flow.client.ip()
        } else {
            address(number, flow.client.is_ipv4())
        };
        // The remainder is below the count of ports, which are 16 bits.
        SocketAddr::new(ip, (FIRST_PORT + number % PORT_COUNT) as u16)
    }

    /// The inside address of a flow that is known outside as `known_as`, if that is still bound.
    fn inside(&mut self, known_as: Flow, at: Duration) -> Option<SocketAddr> {
        let inside = *self.inward.seen(&known_as, at, LIFE)?;
        let flow = Flow {
            client: inside,
            ..known_as
        };
        let binding = *self.bindings.seen(&flow, at, LIFE)?;
        (binding.outside == known_as.client).then_some(inside)
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{SYN, Trial, datagram, segment};
    use super::*;
    use crate::middlebox::Middlebox;

    fn source(ip: &[u8]) -> SocketAddr {
        let read = wire::Packet::parse(ip).unwrap();
        SocketAddr::new(read.source(), read.ports().unwrap().0)
    }

    /// A packet of the server to this address.
    fn answer(to: SocketAddr) -> Vec<u8> {
        let mut ip = datagram(Direction::Down, to.is_ipv6(), 443, b"answer");
        let mut packet = PacketMut::parse(&mut ip).unwrap();
        assert!(packet.set_destination(to.ip()) && packet.set_destination_port(to.port()));
        ip
    }

    #[test]
    fn each_binding_expires_and_then_no_longer_leads_back() {
        for (text, is_v6, moves) in [
            ("rebind:1s", false, true),
            ("rebind:1s", true, true),
            ("rebind:1s,port", false, false),
            ("rebind:1s,port", true, false),
        ] {
            let mut nat = Trial::parse(text);
            let sent = datagram(Direction::Up, is_v6, 443, b"question");
            let own = source(&sent);
            let mut seen = Vec::new();
            for at in [0, 999, 1000, 1999, 2000, 3500] {
                seen.push(source(&nat.one(Direction::Up, at, &sent).ip));
            }
            assert_eq!((seen[0], seen[1]), (own, own), "{text}");
            assert_eq!(seen[2], seen[3], "{text}");
            let bindings = [own, seen[2], seen[4], seen[5]];
            for (number, one) in bindings.iter().enumerate() {
                assert!(
                    bindings[..number]
                        .iter()
                        .all(|other| other.port() != one.port())
                );
                assert_eq!(one.ip() != own.ip(), moves && number > 0, "{text}");
            }
            let back = nat.one(Direction::Down, 3600, &answer(seen[5]));
            assert_eq!(back.ip, datagram(Direction::Down, is_v6, 443, b"answer"));
            for old in [own, seen[2], seen[4]] {
                nat.loses(Direction::Down, 3700, &answer(old), NAME);
            }
        }
    }

    #[test]
    fn tcp_keeps_its_addresses() {
        let mut nat = Trial::parse("rebind:1ms");
        let syn = segment(Direction::Up, SYN, &[], b"");
        for at in [0, 100, 200] {
            assert_eq!(nat.one(Direction::Up, at, &syn).ip, syn);
        }
    }

    #[test]
    fn its_argument_is_a_time_and_an_optional_word() {
        for text in ["rebind", "rebind:soon", "rebind:1s,address"] {
            assert!(text.parse::<Middlebox>().is_err(), "{text}");
        }
    }
}
