//! Fuzzes IP packets: all views, all changes, all answers, fragments.
#![no_main]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::packet::{Echo, Ecn, Flags, IpVersion, Packet, PacketMut, fragments, reset, too_big};

fuzz_target!(|bytes: &[u8]| {
    for version in [IpVersion::V4, IpVersion::V6] {
        let _ = Echo::from_reply(version, bytes);
    }
    let Ok(packet) = Packet::parse(bytes) else {
        return;
    };
    let _ = (packet.ports(), packet.payload());
    let _ = packet.tcp().map(|tcp| tcp.options().count());
    let _ = packet.udp().map(|udp| udp.payload_range());
    let _ = packet.icmp().map(|icmp| icmp.next_hop_mtu());
    let us = match packet.version() {
        IpVersion::V4 => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpVersion::V6 => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    for answer in [reset(&packet), too_big(&packet, us, 1280)]
        .into_iter()
        .flatten()
    {
        let answer = Packet::parse(&answer).expect("what we compose");
        assert_eq!(answer.checksum_is_right(), Some(true));
    }
    for piece in fragments(&packet, 68).into_iter().flatten() {
        assert!(piece.len() <= 68 && Packet::parse(&piece).is_ok());
    }
    let right = packet.checksum_is_right();
    let mut copy = bytes.to_vec();
    let mut change = PacketMut::parse(&mut copy).expect("it was parsed before");
    let _ = change.set_source(us) | change.set_destination(us);
    let _ = change.set_source_port(1) | change.set_destination_port(2);
    let _ = change.set_tcp_flags(Flags::RST) | change.set_maximum_segment_size(536);
    change.blank_options(|_| true);
    change.set_ecn(Ecn::CongestionExperienced);
    change.set_hop_limit(1);
    assert_eq!(change.view().checksum_is_right(), right);
});
