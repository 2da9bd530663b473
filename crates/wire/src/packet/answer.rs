//! How a host or router answers a packet that it does not accept: with a reset, or by saying that
//! the packet is too big.

use std::net::IpAddr;

use super::icmp::{FRAGMENTATION_NEEDED, PACKET_TOO_BIG, UNREACHABLE};
use super::{Flags, ICMP, ICMPV6, IpHeader, Packet, TCP, compose};

/// The largest ICMP error in bytes: it quotes as much of the packet as fits. RFC 1812 §4.3.2.3, RFC
/// 4443 §2.4 (c).
const LARGEST_ERROR_V4: usize = 576;
const LARGEST_ERROR_V6: usize = 1280;
/// Internetwork control. RFC 1812 §4.3.2.5.
const ERROR_CLASS: u8 = 0xc0;

/// The reset with which a host answers a segment to a closed port, as specified in RFC 9293
/// §3.10.7.1. Returns `None` for packets without a TCP segment, for resets, and for segments from
/// or to a multicast or broadcast address.
pub fn reset(packet: &Packet<'_>) -> Option<Vec<u8>> {
    let segment = packet.tcp()?;
    let flags = segment.flags();
    let (us, them) = (packet.destination(), packet.source());
    // RFC 9293 §3.9.2.3: segments from or to such an address are dropped.
    if flags.contains(Flags::RST) || !is_one_host(us) || !is_one_host(them) {
        return None;
    }
    let (sequence, acknowledgment, flags) = if flags.contains(Flags::ACK) {
        (segment.acknowledgment(), 0, Flags::RST)
    } else {
        let next = segment.sequence().wrapping_add(segment.segment_length());
        (0, next, Flags::RST | Flags::ACK)
    };
    let mut answer = Vec::with_capacity(20);
    answer.extend(segment.destination_port().to_be_bytes());
    answer.extend(segment.source_port().to_be_bytes());
    answer.extend(sequence.to_be_bytes());
    answer.extend(acknowledgment.to_be_bytes());
    answer.extend(flags.put_into([5 << 4, 0]));
    answer.extend([0; 6]);
    compose(&IpHeader::new(us, them, TCP), &answer).ok()
}

/// A router's answer to a packet over the next link's `mtu`: "fragmentation needed" (RFC 1191 §4)
/// or "packet too big" (RFC 4443 §3.2). Returns `None` if a router must not answer (RFC 1812
/// §4.3.2.7, RFC 4443 §2.4 (e)), or if its address is of another version than the packet.
pub fn too_big(packet: &Packet<'_>, router: IpAddr, mtu: u32) -> Option<Vec<u8>> {
    let (source, destination) = (packet.source(), packet.destination());
    let about_error = packet.icmp().is_some_and(|message| message.is_error());
    if about_error || !is_one_host(source) || source.is_ipv4() != router.is_ipv4() {
        return None;
    }
    let (protocol, mut message, header, largest) = match router {
        IpAddr::V4(_) if packet.fragment().offset > 0 || !is_one_host(destination) => return None,
        IpAddr::V4(_) => {
            let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
            let mut message = vec![UNREACHABLE, FRAGMENTATION_NEEDED, 0, 0, 0, 0];
            message.extend(mtu.to_be_bytes());
            (ICMP, message, 20, LARGEST_ERROR_V4)
        }
        // This applies to multicast, too, so that a sender learns the path's MTU. RFC 4443 §2.4
        // (e.3).
        IpAddr::V6(_) => {
            let mut message = vec![PACKET_TOO_BIG, 0, 0, 0];
            message.extend(mtu.to_be_bytes());
            (ICMPV6, message, 40, LARGEST_ERROR_V6)
        }
    };
    let room = largest - header - message.len();
    message.extend(packet.bytes().iter().take(room));
    let mut envelope = IpHeader::new(router, source, protocol);
    envelope.traffic_class = match router {
        IpAddr::V4(_) => ERROR_CLASS,
        IpAddr::V6(_) => 0,
    };
    compose(&envelope, &message).ok()
}

fn is_one_host(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !address.is_multicast() && !address.is_unspecified() && !is_broadcast
}
