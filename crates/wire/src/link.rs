//! Finds the IP packet in a captured frame: link layers by the numbers of tcpdump.org, tags, and
//! common tunnels.

mod radio;
mod tunnel;

use std::borrow::Cow;

use crate::pcapng::LinkType;
use radio::{after_prism, after_radiotap, wireless};
use tunnel::inside;

/// The largest number of nested layers; real captures have two or three.
const MAX_LAYERS: usize = 8;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE: u16 = 0x8864;
const TRANSPARENT_ETHERNET: u16 = 0x6558;
const PPP: u16 = 0x880b;
const LOOPBACK_PROTOCOL: u16 = 0x9000;
/// Cisco's port extenders.
const VNTAG: u16 = 0x8926;
/// Provider backbone bridges. IEEE 802.1Q §9.7.
const BACKBONE: u16 = 0x88e7;
/// Port extenders of IEEE 802.1BR, and the security group tag of Cisco's switches.
const ETAG: u16 = 0x893f;
const SECURITY_GROUP: u16 = 0x8909;
/// Packets that a switch redirects to a cache, in GRE. draft-param-wccp-v2rev1 §4.
const REDIRECTED: u16 = 0x883e;
/// Below this value, the two bytes are a length, and LLC follows. IEEE 802.3 §3.2.6.
const MIN_ETHERTYPE: u16 = 0x0600;

/// The direction of a frame, according to the capturing host.
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
    let (protocol, payload, way) = link_layer(link.0, frame)?;
    let packet = innermost(protocol, payload)?;
    Some(LinkPayload { packet, way })
}

type LinkContent<'a> = (u16, &'a [u8], Option<LinkDirection>);

/// The protocol after a link layer's header, the bytes of it, and the direction if it is recorded.
fn link_layer(link: u16, frame: &[u8]) -> Option<LinkContent<'_>> {
    let undirected = |(protocol, rest)| Some((protocol, rest, None));
    match link {
        0 | 108 => undirected((family(frame)?, frame.get(4..)?)),
        1 => undirected(ethernet(frame)?),
        // PPP with or without its first two bytes, with and without HDLC, or Cisco's HDLC.
        9 | 50 => match frame {
            [0x0f | 0x8f, 0, rest @ ..] => undirected((ethertype(rest, 0)?, rest.get(2..)?)),
            [0xff, 0x03, rest @ ..] => undirected(ppp(rest)?),
            _ => undirected(ppp(frame)?),
        },
        // FDDI: its control byte and two addresses.
        10 => undirected(llc(frame.get(13..)?)?),
        // Cisco's HDLC: two bytes, and an Ethernet type.
        104 => undirected((ethertype(frame, 2)?, frame.get(4..)?)),
        // Raw IP, under the numbers that several systems gave it.
        12 | 14 | 101 | 228 | 229 => undirected((version(frame)?, frame)),
        105 => undirected(wireless(frame)?),
        113 => Some((
            ethertype(frame, 14)?,
            frame.get(16..)?,
            way_of(u16_at(frame, 0)?),
        )),
        119 | 163 => undirected(wireless(after_prism(frame)?)?),
        127 => undirected(wireless(after_radiotap(frame)?)?),
        // PPI has the length of radiotap, and the number of what follows.
        192 => link_layer(u16_le_at(frame, 4)?, after_radiotap(frame)?),
        239 => {
            let packet = nflog(frame)?;
            undirected((version(packet)?, packet))
        }
        // IP over InfiniBand: the other's address comes first. RFC 4391 §6.
        242 => undirected((ethertype(frame, 40)?, frame.get(44..)?)),
        258 => pktap(frame),
        276 => {
            let way = way_of(u16::from(*frame.get(10)?));
            Some((ethertype(frame, 0)?, frame.get(20..)?, way))
        }
        _ => None,
    }
}

/// Parses a frame of macOS' `pktap`, which names the link layer behind its header.
fn pktap(frame: &[u8]) -> Option<LinkContent<'_>> {
    const NESTED: u16 = 258;
    let link = u16_le_at(frame, 8).filter(|link| *link != NESTED)?;
    let content = frame.get(usize::from(u16_le_at(frame, 0)?)..)?;
    let way = match u16_le_at(frame, 36)? & 3 {
        1 => Some(LinkDirection::Incoming),
        2 => Some(LinkDirection::Outgoing),
        _ => None,
    };
    let (protocol, rest, inner) = link_layer(link, content)?;
    Some((protocol, rest, way.or(inner)))
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
                    (protocol, bytes) = below_labels(bytes)?;
                }
            }
            PPPOE => (protocol, bytes) = ppp(bytes.get(6..)?)?,
            TRANSPARENT_ETHERNET => (protocol, bytes) = ethernet(bytes)?,
            PPP => (protocol, bytes) = ppp(bytes.strip_prefix(&[0xff, 0x03]).unwrap_or(bytes))?,
            VNTAG | ETAG | SECURITY_GROUP => {
                let length = if protocol == VNTAG { 4 } else { 6 };
                (protocol, bytes) = (ethertype(bytes, length)?, bytes.get(length + 2..)?);
            }
            // The newer form has an additional header, whose first bits are zero.
            REDIRECTED => {
                let header = if version(bytes).is_none() { 4 } else { 0 };
                bytes = bytes.get(header..)?;
                protocol = version(bytes)?;
            }
            BACKBONE => (protocol, bytes) = (TRANSPARENT_ETHERNET, bytes.get(4..)?),
            // Loopback of some systems: the protocol follows.
            LOOPBACK_PROTOCOL => (protocol, bytes) = (version(bytes)?, bytes),
            _ => return None,
        }
    }
    None
}

/// The protocol of an Ethernet frame, and the bytes after its header. If there is a length in place
/// of the type, LLC (or SNAP) names the protocol. RFC 1042.
fn ethernet(frame: &[u8]) -> Option<(u16, &[u8])> {
    let kind = ethertype(frame, 12)?;
    let rest = frame.get(14..)?;
    if kind >= MIN_ETHERTYPE {
        return Some((kind, rest));
    }
    llc(rest)
}

fn llc(bytes: &[u8]) -> Option<(u16, &[u8])> {
    match *bytes.first_chunk::<3>()? {
        [0xaa, 0xaa, 0x03] => Some((ethertype(bytes, 6)?, bytes.get(8..)?)),
        [0x06, 0x06, 0x03] => Some((IPV4, bytes.get(3..)?)),
        _ => None,
    }
}

/// Parses the content after the last MPLS label: IP, or Ethernet, often after a control word, whose
/// first bits are zero. RFC 4385 §3, RFC 4448 §4.6.
fn below_labels(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let is_known = |frame: &[u8]| {
        let kind = ethernet(frame).map(|(kind, _)| kind);
        kind.is_some_and(|kind| matches!(kind, IPV4 | IPV6 | BACKBONE) || VLAN.contains(&kind))
    };
    if let Some(kind) = version(bytes) {
        return Some((kind, bytes));
    }
    let has_word = bytes.first().is_some_and(|first| first >> 4 == 0);
    let after = bytes.get(4..).filter(|_| has_word);
    let frame = after
        .into_iter()
        .chain([bytes])
        .find(|frame| is_known(frame))?;
    Some((TRANSPARENT_ETHERNET, frame))
}

/// Parses a frame of Linux's netfilter log: attributes, whose numbers have the capturing host's
/// byte order. One of the attributes is the packet.
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

/// Reads a PPP header. RFC 1661 §2: a protocol number may be shortened to one byte.
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

fn u16_le_at(bytes: &[u8], at: usize) -> Option<u16> {
    u16_at(bytes, at).map(u16::swap_bytes)
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
    pub(super) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![
            0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        bytes.extend(payload);
        let length = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    pub(super) fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x30, 0x39];
        bytes.extend(port.to_be_bytes());
        bytes.extend((payload.len() as u16 + 8).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(payload);
        bytes
    }

    pub(super) fn found(link: u16, frame: Vec<u8>) -> Option<(Vec<u8>, Option<LinkDirection>)> {
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
            (
                1,
                after(&ethernet(&[0, 28, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0])),
                None,
            ),
            (1, after(&ethernet(&[0, 23, 6, 6, 3])), None),
            (1, after(&ethernet(&[0x89, 0x26, 1, 2, 3, 4, 8, 0])), None),
            (
                1,
                after(&[&ethernet(&[0x88, 0xe7, 0, 0, 0, 9]), &[3; 12][..], &[8, 0]].concat()),
                None,
            ),
            // A pseudowire, with its control word and without.
            (
                1,
                after(
                    &[
                        &ethernet(&[0x88, 0x47, 0, 1, 1, 9, 0, 0, 0, 0]),
                        &[3; 12][..],
                        &[8, 0],
                    ]
                    .concat(),
                ),
                None,
            ),
            (
                1,
                after(&[&ethernet(&[0x88, 0x47, 0, 1, 1, 9]), &[3; 12][..], &[8, 0]].concat()),
                None,
            ),
            (104, after(&[0x0f, 0, 8, 0]), None),
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
    fn tags_and_link_layers_that_are_seldom_met_are_read_too() {
        let ip = ipv4(6, &[0; 20]);
        let after = |head: &[u8]| [head, &ip].concat();
        let ethernet = |tail: &[u8]| [&[2; 12][..], tail].concat();
        for (link, frame, way) in [
            (
                1,
                after(&ethernet(&[0x89, 0x3f, 1, 2, 3, 4, 5, 6, 8, 0])),
                None,
            ),
            (
                1,
                after(&ethernet(&[0x89, 0x09, 1, 1, 0, 1, 0, 7, 8, 0])),
                None,
            ),
            (9, after(&[0x0f, 0, 8, 0]), None),
            (
                10,
                after(&[&[0x50][..], &[2; 12], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat()),
                None,
            ),
            (242, after(&[&[0; 40][..], &[8, 0, 0, 0]].concat()), None),
            (
                258,
                after(
                    &[
                        &[44, 0, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0][..],
                        &[0; 24],
                        &[2, 0, 0, 0, 2, 0, 0, 0],
                    ]
                    .concat(),
                ),
                Some(LinkDirection::Outgoing),
            ),
        ] {
            assert_eq!(found(link, frame), Some((ip.clone(), way)), "link {link}");
        }
    }
}
