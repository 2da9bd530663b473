//! Tunnels in IP packets: IP in IP, GRE with what routers put into it, and tunnels over UDP.

use super::{IPV4, IPV6, PPP, TRANSPARENT_ETHERNET, u16_at, version};
use crate::packet::{Packet, UDP};

const IPV4_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;
/// The assigned port, and the one that Linux used before.
const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const VXLAN_GPE_PORT: u16 = 4790;
const GENEVE_PORT: u16 = 6081;
/// The user plane of mobile networks. 3GPP TS 29.281 §4.4.2.
const GTP_PORT: u16 = 2152;
const TEREDO_PORT: u16 = 3544;
/// Mirrored frames: types I and II have one number, type III another. draft-foschiano-erspan.
const ERSPAN: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;

/// The content of a packet if it is a tunnel: its protocol and its bytes.
pub(super) fn inside(bytes: &[u8]) -> Option<(u16, &[u8])> {
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
                GTP_PORT => gtp(udp.payload()),
                TEREDO_PORT => teredo(udp.payload()),
                _ if udp.source_port() == TEREDO_PORT => teredo(udp.payload()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// RFC 2784 §2 and RFC 2890 §2: checksum, key and sequence number are optional. Version 1 is PPTP's
/// and has an acknowledgement as well. RFC 2637 §4.1.
fn gre(bytes: &[u8]) -> Option<(u16, &[u8])> {
    const SEQUENCE: u16 = 0x1000;
    let flags = u16_at(bytes, 0)?;
    let optional = [
        0x8000,
        0x2000,
        SEQUENCE,
        if flags & 7 == 1 { 0x80 } else { 0 },
    ];
    let words = optional.iter().filter(|bit| flags & **bit != 0).count();
    (flags & 7 <= 1).then_some(())?;
    let content = bytes.get(4 + 4 * words..)?;
    let protocol = u16_at(bytes, 2)?;
    let mirrored = |header: usize| Some((TRANSPARENT_ETHERNET, content.get(header..)?));
    match protocol {
        // A packet that only acknowledges has no content.
        PPP => (!content.is_empty()).then_some((PPP, content)),
        ERSPAN if flags & SEQUENCE == 0 => mirrored(0),
        ERSPAN => mirrored(8),
        // The last bit says that a platform's header follows.
        ERSPAN_III => mirrored(if content.get(11)? & 1 == 0 { 12 } else { 20 }),
        _ => Some((protocol, content)),
    }
}

/// 3GPP TS 29.281 §5: user packets, after extension headers that state their length in words and
/// the type of the next header.
fn gtp(bytes: &[u8]) -> Option<(u16, &[u8])> {
    const USER_DATA: u8 = 0xff;
    let [flags, kind] = *bytes.first_chunk::<2>()?;
    // Version 1, and not of the charging protocol.
    (flags & 0xf0 == 0x30 && kind == USER_DATA).then_some(())?;
    let mut rest = bytes.get(8..)?;
    if flags & 0x07 != 0 {
        let mut next = if flags & 0x04 == 0 { 0 } else { *rest.get(3)? };
        rest = rest.get(4..)?;
        while next != 0 {
            let length = usize::from(*rest.first()?).max(1) * 4;
            next = *rest.get(length - 1)?;
            rest = rest.get(length..)?;
        }
    }
    whole(rest)
}

/// RFC 4380 §5.1.1: headers for authentication and for the origin may come first.
fn teredo(mut bytes: &[u8]) -> Option<(u16, &[u8])> {
    if let [0, 1, identifier, value, ..] = *bytes {
        bytes = bytes.get(4 + usize::from(identifier) + usize::from(value) + 9..)?;
    }
    if bytes.starts_with(&[0, 0]) {
        bytes = bytes.get(8..)?;
    }
    whole(bytes).filter(|(protocol, _)| *protocol == IPV6)
}

/// An IP packet that is not cut inside its headers: other uses of a port are not unpacked.
fn whole(bytes: &[u8]) -> Option<(u16, &[u8])> {
    Packet::parse(bytes).ok()?;
    Some((version(bytes)?, bytes))
}

/// draft-ietf-nvo3-vxlan-gpe §3: the identifier is valid, and the header names the next protocol.
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

#[cfg(test)]
mod tests {
    use super::super::tests::{found, ipv4, udp};
    use super::*;

    #[test]
    fn tunnels_are_opened() {
        let ip = ipv4(6, &[0; 20]);
        let ethernet = [&[2; 12][..], &[8, 0], &ip].concat();
        for outer in [
            ipv4(IPV4_IN_IP, &ip),
            ipv4(GRE, &[&[0, 0, 8, 0][..], &ip].concat()),
            ipv4(GRE, &[&[0, 0, 0x88, 0x3e][..], &ip].concat()),
            ipv4(GRE, &[&[0, 0, 0x88, 0x3e, 0, 0, 0, 0][..], &ip].concat()),
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
            // PPTP, with a sequence number and an acknowledgement.
            ipv4(
                GRE,
                &[
                    &[0x30, 0x81, 0x88, 0x0b, 0, 9, 0, 7][..],
                    &[0; 8],
                    &[0xff, 3, 0, 0x21],
                    &ip,
                ]
                .concat(),
            ),
            // Frames that a switch mirrors, of types I, II and III.
            ipv4(GRE, &[&[0, 0, 0x88, 0xbe][..], &ethernet].concat()),
            ipv4(
                GRE,
                &[&[0x10, 0, 0x88, 0xbe][..], &[0; 12], &ethernet].concat(),
            ),
            ipv4(
                GRE,
                &[&[0x10, 0, 0x22, 0xeb][..], &[0; 16], &ethernet].concat(),
            ),
            // The tunnel of a mobile network, plain, and with a sequence number and an extension
            // header.
            ipv4(
                UDP,
                &udp(
                    GTP_PORT,
                    &[&[0x30, 0xff, 0, 40, 0, 0, 0, 1][..], &ip].concat(),
                ),
            ),
            ipv4(
                UDP,
                &udp(
                    GTP_PORT,
                    &[
                        &[0x36, 0xff, 0, 48, 0, 0, 0, 1, 0, 7, 0, 0x85][..],
                        &[1, 0, 9, 0],
                        &ip,
                    ]
                    .concat(),
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
        let six = [&[0x60, 0, 0, 0, 0, 20, 6, 64][..], &[1; 32], &[0; 20]].concat();
        for head in [
            &[][..],
            &[0, 0, 1, 2, 3, 4, 5, 6],
            &[0, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0],
        ] {
            let outer = ipv4(UDP, &udp(TEREDO_PORT, &[head, &six].concat()));
            assert_eq!(found(101, outer), Some((six.clone(), None)), "Teredo");
        }
        // A packet that only looks like a tunnel is not unpacked.
        let plain = ipv4(UDP, &udp(VXLAN_PORTS[0], &[0; 4]));
        assert_eq!(found(101, plain.clone()), Some((plain, None)));
        let echo = ipv4(
            UDP,
            &udp(GTP_PORT, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0]),
        );
        assert_eq!(found(101, echo.clone()), Some((echo, None)));
        // Reading ends, however deep the nesting is.
        let mut nested = ip;
        for _ in 0..100 {
            nested = ipv4(IPV4_IN_IP, &nested);
        }
        assert_eq!(found(101, nested), None);
    }
}
