//! A link with a smaller MTU than its neighbours assume. It fragments packets if IP allows it;
//! otherwise it notifies the sender, or drops the packet silently.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use roundtrip_wire::packet as wire;

use super::{Hop, HopOutput};
use crate::direction::Direction;
use crate::link::LinkMtu;
use crate::packet::Packet;

/// The source addresses of the hole's ICMP errors: unused addresses of the path's own subnets.
const ROUTER_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 254));
const ROUTER_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0xfe));

pub(crate) struct MtuHop(pub(crate) LinkMtu);

impl Hop for MtuHop {
    fn pass(&mut self, packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        let mtu = self.0.bytes;
        if packet.length() <= usize::from(mtu) {
            exit.forward(packet, way, at);
            return;
        }
        if let Ok(read) = wire::Packet::parse(packet.ip()) {
            // RFC 791 §3.2: routers must not cut packets with "don't fragment", or any of IPv6.
            if let Ok(fragments) = wire::fragments(&read, usize::from(mtu)) {
                for fragment in fragments {
                    let mut part = packet.clone();
                    part.replace(&fragment);
                    part.remark(|| format!("cut from a packet of {} bytes", packet.length()));
                    exit.forward(part, way, at);
                }
                return;
            }
            let router = match read.version() {
                wire::IpVersion::V4 => ROUTER_V4,
                wire::IpVersion::V6 => ROUTER_V6,
            };
            let says_so = self.0.says_so;
            if let Some(answer) = wire::too_big(&read, router, mtu.into()).filter(|_| says_so) {
                let why = format!(
                    "the link takes {mtu} bytes, and the packet has {}",
                    packet.length()
                );
                exit.answer(&answer, way.opposite(), at, &why);
            }
        }
        exit.lose(packet, way, "over the MTU");
    }
}

#[cfg(test)]
mod tests {
    use roundtrip_wire::packet::{IpHeader, UDP, compose};

    use super::*;

    const CLIENT: [IpAddr; 2] = [
        IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)),
        IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1)),
    ];
    const SERVER: [IpAddr; 2] = [
        IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2)),
        IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2)),
    ];

    /// A datagram of `length` bytes, IP header included.
    fn datagram(version: usize, length: usize, fragments_as: Option<u16>) -> Vec<u8> {
        let header = [20, 40][version];
        let mut udp = vec![0, 1, 0, 2, 0, 0, 0xff, 0xff];
        udp.resize(length - header, 7);
        let declared = (udp.len() as u16).to_be_bytes();
        udp[4..6].copy_from_slice(&declared);
        let envelope = IpHeader {
            fragments_as,
            ..IpHeader::new(CLIENT[version], SERVER[version], UDP)
        };
        compose(&envelope, &udp).unwrap()
    }

    fn through(mtu: &str, ip: &[u8]) -> HopOutput {
        let mut exit = HopOutput::default();
        let packet = Packet::from_ip(ip, Duration::ZERO);
        MtuHop(mtu.parse().unwrap()).pass(packet, Direction::Up, Duration::ZERO, &mut exit);
        for moved in &exit.moves {
            let read = wire::Packet::parse(moved.packet.ip()).unwrap();
            assert!(read.header_checksum_is_right());
            assert_ne!(read.checksum_is_right(), Some(false));
        }
        exit
    }

    #[test]
    fn packets_that_fit_pass() {
        for version in [0, 1] {
            let ip = datagram(version, 1400, None);
            let exit = through("1400", &ip);
            assert_eq!(exit.moves[0].packet.ip(), ip);
            assert!(exit.losses.is_empty() && exit.moves.len() == 1);
        }
    }

    #[test]
    fn fragmentable_packets_are_cut_even_by_a_silent_link() {
        for mtu in ["1400", "1400,silent"] {
            let ip = datagram(0, 1500, Some(9));
            let exit = through(mtu, &ip);
            assert!(exit.losses.is_empty());
            let [first, second] = &exit.moves[..] else {
                panic!("two parts: {exit:?}");
            };
            let parts = [first, second].map(|part| part.packet.ip());
            assert!(parts[0].len() <= 1400 && parts[0].len() > 1380);
            assert_eq!([&parts[0][20..], &parts[1][20..]].concat(), ip[20..]);
            assert_eq!(first.packet.remarks(), ["cut from a packet of 1500 bytes"]);
        }
    }

    #[test]
    fn unfragmentable_packets_are_reported_or_dropped() {
        for (version, router) in [(0, ROUTER_V4), (1, ROUTER_V6)] {
            let ip = datagram(version, 1500, None);
            let told = through("1400", &ip);
            assert_eq!(told.losses[0].cause, "over the MTU");
            let answer = &told.moves[0];
            assert_eq!((told.moves.len(), answer.way), (1, Direction::Down));
            let read = wire::Packet::parse(answer.packet.ip()).unwrap();
            assert_eq!(
                (read.source(), read.destination()),
                (router, CLIENT[version])
            );
            assert_eq!(read.icmp().unwrap().next_hop_mtu(), Some(1400));
            let silent = through("1400,silent", &ip);
            assert_eq!((silent.moves.len(), silent.losses.len()), (0, 1));
        }
    }
}
