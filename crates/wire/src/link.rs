//! Finds the IP packet in a captured frame: link layers by the numbers of tcpdump.org, tags, and
//! common tunnels.

use std::borrow::Cow;

use crate::packet::{Packet, UDP};
use crate::pcapng::LinkType;

/// The most nested layers; real captures have two or three.
const MAX_LAYERS: usize = 8;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE: u16 = 0x8864;
const TRANSPARENT_ETHERNET: u16 = 0x6558;
const LOOPBACK_PROTOCOL: u16 = 0x9000;

const IPV4_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;
/// The assigned port, and the one that Linux used before.
const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const VXLAN_GPE_PORT: u16 = 4790;
const GENEVE_PORT: u16 = 6081;

/// Which way a frame went, according to the capturing host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkDirection {
    Incoming,
    Outgoing,
}

/// The packet in a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPayload<'a> {
    /// Starts at the IP header.
    pub packet: &'a [u8],
    pub way: Option<LinkDirection>,
}

/// The innermost IP packet of a frame; `None` if there is none, or the link layer is unknown.
pub fn ip_packet<'a>(link: LinkType, frame: &'a Cow<'a, [u8]>) -> Option<LinkPayload<'a>> {
    let frame: &'a [u8] = frame;
    let (protocol, payload, way) = match link.0 {
        0 | 108 => (family(frame)?, frame.get(4..)?, None),
        1 => (ethertype(frame, 12)?, frame.get(14..)?, None),
        // PPP with or without its first two bytes, with and without HDLC.
        9 | 50 => {
            ppp(frame.strip_prefix(&[0xff, 0x03]).unwrap_or(frame)).map(|(p, r)| (p, r, None))?
        }
        // Raw IP, under the numbers that several systems gave it.
        12 | 14 | 101 | 228 | 229 => (version(frame)?, frame, None),
        113 => (
            ethertype(frame, 14)?,
            frame.get(16..)?,
            way_of(u16_at(frame, 0)?),
        ),
        276 => {
            let way = way_of(u16::from(*frame.get(10)?));
            (ethertype(frame, 0)?, frame.get(20..)?, way)
        }
        239 => {
            let packet = nflog(frame)?;
            (version(packet)?, packet, None)
        }
        _ => return None,
    };
    let packet = innermost(protocol, payload)?;
    Some(LinkPayload { packet, way })
}

/// Follows tags and tunnels.
fn innermost(mut protocol: u16, mut bytes: &[u8]) -> Option<&[u8]> {
    for _ in 0..MAX_LAYERS {
        match protocol {
            IPV4 | IPV6 => match inside(bytes) {
                Some((next, inner)) => (protocol, bytes) = (next, inner),
                None => return Some(bytes),
            },
            tag if VLAN.contains(&tag) => {
                (protocol, bytes) = (ethertype(bytes, 2)?, bytes.get(4..)?);
            }
            label if MPLS.contains(&label) => {
                // The lowest bit of the third byte marks the last label. RFC 3032 §2.1.
                let last = bytes.get(2)? & 1 == 1;
                bytes = bytes.get(4..)?;
                if last {
                    protocol = version(bytes)?;
                }
            }
            PPPOE => (protocol, bytes) = ppp(bytes.get(6..)?)?,
            TRANSPARENT_ETHERNET => {
                (protocol, bytes) = (ethertype(bytes, 12)?, bytes.get(14..)?);
            }
            // Loopback of some systems: the protocol follows.
            LOOPBACK_PROTOCOL => (protocol, bytes) = (version(bytes)?, bytes),
            _ => return None,
        }
    }
    None
}

/// The content of a packet if it is a tunnel: its protocol and its bytes.
fn inside(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let packet = Packet::parse(bytes).ok()?;
    if !packet.fragment().is_whole() {
        return None;
    }
    let payload = packet.payload();
    match packet.protocol() {
        IPV4_IN_IP => Some((IPV4, payload)),
        IPV6_IN_IP => Some((IPV6, payload)),
        GRE => gre(payload),
        UDP => {
            let udp = packet.udp()?;
            match udp.destination_port() {
                // RFC 7348 §5: the flag for a valid identifier.
                port if VXLAN_PORTS.contains(&port) && udp.payload().first()? & 0x08 != 0 => {
                    Some((TRANSPARENT_ETHERNET, udp.payload().get(8..)?))
                }
                VXLAN_GPE_PORT => vxlan_gpe(udp.payload()),
                GENEVE_PORT => geneve(udp.payload()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// RFC 2784 §2 and RFC 2890 §2: checksum, key and sequence number are optional. Version 1 is PPTP's
/// and not supported.
fn gre(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let flags = u16_at(bytes, 0)?;
    let optional = [0x8000, 0x2000, 0x1000];
    let words = optional.iter().filter(|bit| flags & **bit != 0).count();
    (flags.trailing_zeros() >= 3).then_some(())?;
    Some((u16_at(bytes, 2)?, bytes.get(4 + 4 * words..)?))
}

/// draft-ietf-nvo3-vxlan-gpe §3: the identifier is valid, and the next protocol is told.
fn vxlan_gpe(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let flags = *bytes.first()?;
    (flags & 0x0c == 0x0c).then_some(())?;
    let protocol = match *bytes.get(3)? {
        1 => IPV4,
        2 => IPV6,
        3 => TRANSPARENT_ETHERNET,
        _ => return None,
    };
    Some((protocol, bytes.get(8..)?))
}

/// RFC 8926 §3.4.
fn geneve(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let first = *bytes.first()?;
    let options = usize::from(first & 0x3f) * 4;
    (first >> 6 == 0).then_some(())?;
    Some((u16_at(bytes, 2)?, bytes.get(8 + options..)?))
}

/// For Linux's netfilter: attributes, whose numbers have the capturing host's byte order. One of
/// them is the packet.
fn nflog(frame: &[u8]) -> Option<&[u8]> {
    const PAYLOAD: u16 = 9;
    let mut rest = frame.get(4..)?;
    loop {
        let head = *rest.first_chunk::<4>()?;
        let [a, b, c, d] = head;
        // The type is small, so its larger byte is zero.
        let (length, kind) = if d == 0 {
            (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
        } else {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        };
        let length = usize::from(length);
        if kind == PAYLOAD {
            return rest.get(4..length.min(rest.len()));
        }
        rest = rest.get(length.max(4).next_multiple_of(4)..)?;
    }
}

/// RFC 1661 §2: a protocol number may be shortened to one byte.
fn ppp(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (number, rest) = match *bytes {
        [first, ref rest @ ..] if first & 1 == 1 => (u16::from(first), rest),
        [first, second, ref rest @ ..] => (u16::from_be_bytes([first, second]), rest),
        _ => return None,
    };
    match number {
        0x0021 => Some((IPV4, rest)),
        0x0057 => Some((IPV6, rest)),
        _ => None,
    }
}

/// The family in front of a frame of BSD's loopback, in either byte order: its numbers differ
/// between systems, so the packet itself decides.
fn family(frame: &[u8]) -> Option<u16> {
    version(frame.get(4..)?)
}

fn version(packet: &[u8]) -> Option<u16> {
    match packet.first()? >> 4 {
        4 => Some(IPV4),
        6 => Some(IPV6),
        _ => None,
    }
}

fn ethertype(bytes: &[u8], at: usize) -> Option<u16> {
    u16_at(bytes, at)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*two))
}

/// The packet types of Linux's cooked captures.
fn way_of(kind: u16) -> Option<LinkDirection> {
    match kind {
        0 => Some(LinkDirection::Incoming),
        4 => Some(LinkDirection::Outgoing),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet of this protocol.
    fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![
            0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        bytes.extend(payload);
        let length = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x30, 0x39];
        bytes.extend(port.to_be_bytes());
        bytes.extend((payload.len() as u16 + 8).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(payload);
        bytes
    }

    fn found(link: u16, frame: Vec<u8>) -> Option<(Vec<u8>, Option<LinkDirection>)> {
        let frame = Cow::Owned(frame);
        ip_packet(LinkType(link), &frame).map(|inner| (inner.packet.to_vec(), inner.way))
    }

    #[test]
    fn the_packet_is_found_in_each_link_layer() {
        let ip = ipv4(6, &[0; 20]);
        let after = |head: &[u8]| [head, &ip].concat();
        let ethernet = |tail: &[u8]| [&[2; 12][..], tail].concat();
        for (link, frame, way) in [
            (1, after(&ethernet(&[8, 0])), None),
            (1, after(&ethernet(&[0x81, 0, 0, 7, 8, 0])), None),
            (
                1,
                after(&ethernet(&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0])),
                None,
            ),
            (
                1,
                after(&ethernet(&[0x88, 0x47, 0, 1, 0, 9, 0, 1, 1, 9])),
                None,
            ),
            (
                1,
                after(&ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 42, 0, 0x21])),
                None,
            ),
            (0, after(&[2, 0, 0, 0]), None),
            (108, after(&[0, 0, 0, 2]), None),
            (9, after(&[0xff, 3, 0, 0x21]), None),
            (9, after(&[0x21]), None),
            (101, ip.clone(), None),
            (12, ip.clone(), None),
            (
                113,
                after(&[0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0]),
                Some(LinkDirection::Outgoing),
            ),
            (
                113,
                after(&[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0]),
                Some(LinkDirection::Incoming),
            ),
            (
                276,
                after(&[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0]),
                Some(LinkDirection::Outgoing),
            ),
        ] {
            assert_eq!(found(link, frame), Some((ip.clone(), way)), "link {link}");
        }
        let length = ip.len() as u16 + 4;
        let little = [
            &[2, 0, 0, 5, 8, 0, 1, 0, 8, 0, 0, 0][..],
            &length.to_le_bytes(),
            &[9, 0],
        ];
        let big = [
            &[2, 0, 0, 5, 0, 5, 0, 10, b'x', 0, 0, 0][..],
            &length.to_be_bytes(),
            &[0, 9],
        ];
        for head in [little.concat(), big.concat()] {
            assert_eq!(
                found(239, after(&head)),
                Some((ip.clone(), None)),
                "netfilter"
            );
        }
        assert_eq!(found(239, vec![2, 0, 0, 5, 0, 0]), None);
        assert_eq!(found(1, ethernet(&[8, 6, 0, 1])), None, "ARP");
        assert_eq!(found(147, ip), None, "nobody knows");
    }

    #[test]
    fn tunnels_are_opened() {
        let ip = ipv4(6, &[0; 20]);
        let ethernet = [&[2; 12][..], &[8, 0], &ip].concat();
        for outer in [
            ipv4(IPV4_IN_IP, &ip),
            ipv4(GRE, &[&[0, 0, 8, 0][..], &ip].concat()),
            ipv4(GRE, &[&[0x20, 0, 8, 0, 1, 2, 3, 4][..], &ip].concat()),
            ipv4(
                UDP,
                &udp(
                    VXLAN_PORTS[0],
                    &[&[8, 0, 0, 0, 0, 0, 9, 0][..], &ethernet].concat(),
                ),
            ),
            ipv4(
                UDP,
                &udp(
                    VXLAN_PORTS[1],
                    &[&[8, 0, 0, 0, 0, 0, 9, 0][..], &ethernet].concat(),
                ),
            ),
            ipv4(
                UDP,
                &udp(
                    VXLAN_GPE_PORT,
                    &[&[0x0c, 0, 0, 1, 0, 0, 9, 0][..], &ip].concat(),
                ),
            ),
            ipv4(
                UDP,
                &udp(
                    GENEVE_PORT,
                    &[&[0, 0, 0x65, 0x58, 0, 0, 9, 0][..], &ethernet].concat(),
                ),
            ),
        ] {
            assert_eq!(found(101, outer), Some((ip.clone(), None)));
        }
        // A packet that only looks like a tunnel is not unpacked.
        let plain = ipv4(UDP, &udp(VXLAN_PORTS[0], &[0; 4]));
        assert_eq!(found(101, plain.clone()), Some((plain, None)));
    }
}
