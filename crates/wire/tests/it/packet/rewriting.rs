//! Changes keep right checksums right, and wrong ones wrong.

use std::net::IpAddr;

use proptest::prelude::*;
use roundtrip_wire::packet::{Ecn, Flags, OptionValue, Packet, PacketMut, TCP, UDP, fragments};

use super::arbitrary::{THEM, THEM6, US6, address, datagram, flags, packet, segment, valid_packet};

fn is_fast_open(value: OptionValue<'_>) -> bool {
    matches!(value, OptionValue::FastOpen { .. })
}

#[test]
fn options_become_padding() {
    // At an odd offset: NOP, fast open with a cookie, MSS, then the experimental form.
    let options = [
        1, 34, 10, 1, 2, 3, 4, 5, 6, 7, 8, 2, 4, 5, 0xb4, 254, 4, 0xf9, 0x89, 0,
    ];
    for version in [4, 6] {
        let mut bytes = packet(version, TCP, &segment(Flags::SYN, &options, b"early"));
        let before = bytes.clone();
        let mut change = PacketMut::parse(&mut bytes).unwrap();
        assert_eq!(change.blank_options(|option| is_fast_open(option.value)), 2);
        let read = change.view();
        assert_eq!(read.checksum_is_right(), Some(true));
        let tcp = read.tcp().unwrap();
        let left: Vec<_> = tcp.options().map(|option| option.value).collect();
        assert_eq!(left, [OptionValue::MaximumSegmentSize(1460)]);
        assert_eq!(tcp.payload(), b"early");
        let at = read.header_length() + 20;
        assert_eq!(read.bytes()[at..at + 11], [1; 11]);
        assert_eq!(read.bytes()[at + 11..at + 15], before[at + 11..at + 15]);
        assert_eq!(change.blank_options(|option| is_fast_open(option.value)), 0);
    }
}

#[test]
fn the_segment_size_is_put_into_its_option() {
    let options = [1, 2, 4, 5, 0xb4, 1, 1, 1];
    let mut bytes = packet(4, TCP, &segment(Flags::SYN, &options, b""));
    let mut change = PacketMut::parse(&mut bytes).unwrap();
    assert!(change.set_maximum_segment_size(1200));
    let read = change.view();
    let first = read.tcp().unwrap().options().next().unwrap();
    assert_eq!(first.value, OptionValue::MaximumSegmentSize(1200));
    assert_eq!(read.checksum_is_right(), Some(true));
    let mut bytes = packet(4, TCP, &segment(Flags::ACK, &[], b""));
    let mut change = PacketMut::parse(&mut bytes).unwrap();
    assert!(!change.set_maximum_segment_size(1200));
}

#[test]
fn changes_that_do_not_apply_change_nothing() {
    let mut bytes = packet(4, UDP, &datagram(b"query"));
    let before = bytes.clone();
    let mut change = PacketMut::parse(&mut bytes).unwrap();
    assert!(!change.set_source(THEM6) && !change.set_destination(US6));
    assert!(!change.set_tcp_flags(Flags::RST) && !change.set_maximum_segment_size(1));
    assert_eq!(change.blank_options(|_| true), 0);
    assert_eq!(bytes, before);
    // A first fragment whose checksum is in the next, and that next one.
    let whole = packet(4, TCP, &segment(Flags::ACK, &[], b"x"));
    for (word, length) in [(0x2000_u16, 36), (0x0001, 33)] {
        let mut bytes = whole[..length].to_vec();
        bytes[3] = length as u8;
        bytes[6..8].copy_from_slice(&word.to_be_bytes());
        let before = bytes.clone();
        let mut change = PacketMut::parse(&mut bytes).unwrap();
        assert!(!change.set_source(THEM) && !change.set_source_port(1));
        assert!(!change.recompute_checksums() || word == 0);
        assert_eq!(bytes[12..], before[12..]);
    }
}

#[test]
fn a_datagram_without_checksum_keeps_none() {
    let mut bytes = packet(4, UDP, &datagram(b"query"));
    bytes[26..28].fill(0);
    let mut change = PacketMut::parse(&mut bytes).unwrap();
    assert!(change.set_source(THEM) && change.set_source_port(9) && change.recompute_checksums());
    assert_eq!(change.view().ports(), Some((9, 53)));
    assert_eq!(change.view().udp().unwrap().checksum(), 0);
    assert!(change.view().header_checksum_is_right());
}

#[test]
fn a_udp_checksum_is_never_written_as_zero() {
    // Some port makes the sum zero, because all other values are taken by other ports.
    let mut bytes = packet(4, UDP, &datagram(b"query"));
    let seen_all_ones = (0..=u16::MAX).any(|port| {
        let mut change = PacketMut::parse(&mut bytes).unwrap();
        assert!(change.set_source_port(port));
        let read = change.view();
        assert_ne!(read.udp().unwrap().checksum(), 0, "port {port}");
        assert_eq!(read.checksum_is_right(), Some(true), "port {port}");
        read.udp().unwrap().checksum() == 0xffff
    });
    assert!(seen_all_ones);
}

#[test]
fn the_address_of_every_fragment_counts_once() {
    let mut bytes = packet(4, TCP, &segment(Flags::ACK, &[], &[7; 100]));
    bytes[6] = 0;
    assert!(PacketMut::parse(&mut bytes).unwrap().recompute_checksums());
    let pieces = fragments(&Packet::parse(&bytes).unwrap(), 68).unwrap();
    let mut whole = Vec::new();
    for mut piece in pieces {
        let mut change = PacketMut::parse(&mut piece).unwrap();
        assert!(change.set_source(IpAddr::from([203, 0, 113, 9])));
        assert!(change.view().header_checksum_is_right());
        if whole.is_empty() {
            whole.extend(&piece[..20]);
        }
        whole.extend(&piece[20..]);
    }
    let length = (whole.len() as u16).to_be_bytes();
    whole[2..4].copy_from_slice(&length);
    whole[6..8].fill(0);
    assert_eq!(
        Packet::parse(&whole).unwrap().checksum_is_right(),
        Some(true)
    );
}

fn every_change(
    change: &mut PacketMut<'_>,
    (source, destination): (IpAddr, IpAddr),
    ports: (u16, u16),
    flags: Flags,
    ecn: Ecn,
) {
    assert!(change.set_source(source) && change.set_destination(destination));
    let has_ports = matches!(change.view().protocol(), TCP | UDP);
    assert_eq!(change.set_source_port(ports.0), has_ports);
    assert_eq!(change.set_destination_port(ports.1), has_ports);
    let is_tcp = change.view().tcp().is_some();
    assert_eq!(change.set_tcp_flags(flags), is_tcp);
    let _ = change.set_maximum_segment_size(ports.0);
    change.blank_options(|option| option.at % 3 == 1);
    change.set_ecn(ecn);
    change.set_hop_limit(7);
    let read = change.view();
    assert_eq!((read.source(), read.destination()), (source, destination));
    assert_eq!(read.ports(), has_ports.then_some(ports));
    assert_eq!((read.ecn(), read.hop_limit()), (ecn, 7));
    assert!(read.tcp().is_none_or(|tcp| tcp.flags() == flags));
}

fn ecn() -> impl Strategy<Value = Ecn> {
    prop_oneof![
        Just(Ecn::NotCapable),
        Just(Ecn::Capable0),
        Just(Ecn::Capable1),
        Just(Ecn::CongestionExperienced),
    ]
}

proptest! {
    #[test]
    fn rewritten_packets_keep_right_checksums(
        (mut bytes, addresses) in valid_packet().prop_flat_map(|bytes| {
            let is_v4 = bytes[0] >> 4 == 4;
            (Just(bytes), (address(is_v4), address(is_v4)))
        }),
        ports in any::<(u16, u16)>(),
        flags in flags(),
        ecn in ecn(),
        spoilt in any::<bool>(),
    ) {
        let last = bytes.len() - 1;
        let is_spoilt = spoilt && bytes.len() > 48;
        if is_spoilt {
            bytes[last] ^= 0x40;
        }
        let mut change = PacketMut::parse(&mut bytes).unwrap();
        prop_assert_eq!(change.view().checksum_is_right(), Some(!is_spoilt));
        every_change(&mut change, addresses, ports, flags, ecn);
        prop_assert!(change.view().header_checksum_is_right());
        prop_assert_eq!(change.view().checksum_is_right(), Some(!is_spoilt));
        // Updated or recomputed: the same.
        let by_difference = change.view().bytes().to_vec();
        prop_assert!(change.recompute_checksums());
        prop_assert_eq!(change.view().checksum_is_right(), Some(true));
        if !is_spoilt {
            prop_assert_eq!(change.view().bytes(), by_difference);
        }
    }
}
