//! Valid and invalid content of packets.

use std::net::{IpAddr, Ipv4Addr};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use roundtrip_wire::packet::{
    Ecn, Flags, Fragment, ICMP, IpHeader, IpVersion, OptionValue, Packet, PacketMut, TCP, UDP,
    compose, fragments, reset, too_big,
};

use super::arbitrary::{THEM, THEM6, US, US6, datagram, packet, segment, valid_packet};

#[test]
fn a_header_of_others_checks_out() {
    // The textbook example of a header checksum: 0xb861.
    let mut bytes = vec![
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];
    let packet = Packet::parse(&bytes).unwrap();
    assert!(packet.header_checksum_is_right());
    assert_eq!(packet.source(), IpAddr::from([192, 168, 0, 1]));
    assert_eq!(packet.destination(), IpAddr::from([192, 168, 0, 199]));
    assert_eq!((packet.protocol(), packet.hop_limit()), (UDP, 64));
    assert_eq!(packet.declared_length(), 115);
    assert!(packet.dont_fragment() && packet.fragment().is_whole());
    // A capture cut after the header.
    assert!(!packet.is_complete() && packet.udp().is_none() && packet.ports().is_none());
    bytes[8] = 63;
    assert!(!Packet::parse(&bytes).unwrap().header_checksum_is_right());
}

#[test]
fn a_segment() {
    let options = [2, 4, 5, 0xb4, 1, 3, 3, 7];
    for version in [4, 6] {
        let flags = Flags::SYN | Flags::ECE | Flags::CWR | Flags::AE;
        let mut bytes = packet(version, TCP, &segment(flags, &options, b"data"));
        let end = bytes.len();
        bytes.extend([0; 6]);
        let packet = Packet::parse(&bytes).unwrap();
        assert_eq!(packet.bytes().len(), end, "padding is no part of it");
        assert!(packet.is_complete() && packet.header_checksum_is_right());
        assert_eq!(packet.checksum_is_right(), Some(true));
        assert_eq!(packet.ports(), Some((40_000, 443)));
        let tcp = packet.tcp().unwrap();
        assert_eq!((tcp.source_port(), tcp.destination_port()), (40_000, 443));
        assert_eq!((tcp.sequence(), tcp.acknowledgment()), (1000, 2000));
        assert_eq!((tcp.flags(), tcp.window()), (flags, 500));
        assert_eq!((tcp.header_length(), tcp.payload()), (28, &b"data"[..]));
        assert_eq!(&bytes[tcp.payload_range()], b"data");
        assert_eq!(tcp.segment_length(), 5);
        let values: Vec<_> = tcp.options().map(|option| option.value).collect();
        let mss = OptionValue::MaximumSegmentSize(1460);
        assert_eq!(values, [mss, OptionValue::WindowScale(7)]);
        assert!(packet.udp().is_none() && packet.icmp().is_none());
    }
}

#[test]
fn a_datagram_and_its_missing_checksum() {
    let mut bytes = packet(4, UDP, &datagram(b"query"));
    let read = Packet::parse(&bytes).unwrap();
    let udp = read.udp().unwrap();
    assert_eq!((udp.source_port(), udp.destination_port()), (40_000, 53));
    assert_eq!((udp.length(), udp.payload()), (13, &b"query"[..]));
    assert_eq!(&bytes[udp.payload_range()], b"query");
    assert_eq!(read.checksum_is_right(), Some(true));
    bytes[26..28].fill(0);
    assert_eq!(Packet::parse(&bytes).unwrap().checksum_is_right(), None);
    let mut bytes = packet(6, UDP, &datagram(b"query"));
    bytes[46..48].fill(0);
    assert_eq!(
        Packet::parse(&bytes).unwrap().checksum_is_right(),
        Some(false)
    );
    // A length below its own header.
    bytes[45] = 7;
    assert!(Packet::parse(&bytes).unwrap().udp().is_none());
}

#[test]
fn extension_headers_are_walked_through() {
    let inner = segment(Flags::ACK, &[], b"x");
    let mut extensions = vec![43, 0, 1, 4, 0, 0, 0, 0]; // hop by hop
    extensions.extend([60, 0, 4, 0, 0, 0, 0, 0]); // routing, no segments left
    extensions.extend([44, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // destination options
    extensions.extend([TCP, 0, 0, 0, 0, 0, 0, 9]); // an atomic fragment
    let transport = [&extensions[..], &inner].concat();
    let bytes = packet(6, 0, &transport);
    let read = Packet::parse(&bytes).unwrap();
    assert_eq!((read.protocol(), read.header_length()), (TCP, 80));
    assert_eq!(read.tcp().unwrap().payload(), b"x");
    assert_eq!(read.fragment().identification, 9);
    assert_eq!(read.checksum_is_right(), Some(true));
    assert!(Packet::parse(&bytes[..60]).is_err());

    // As many as a chain may have, then one more.
    let mut chain = [60, 0, 0, 0, 0, 0, 0, 0].repeat(9);
    chain[56] = 59;
    let mut bytes = packet(6, 60, &chain);
    assert_eq!(Packet::parse(&bytes).unwrap().header_length(), 104);
    bytes[96] = 60;
    assert!(Packet::parse(&bytes).is_err());
    // With a segment left, the checksum covers a destination other than this one.
    let transport = [&[TCP, 0, 4, 1, 0, 0, 0, 0], &inner[..]].concat();
    let mut bytes = packet(6, 43, &transport);
    assert_eq!(Packet::parse(&bytes).unwrap().checksum_is_right(), None);
    assert!(!PacketMut::parse(&mut bytes).unwrap().set_destination(US6));
}

#[test]
fn later_fragments_have_no_transport() {
    let mut bytes = packet(4, TCP, &segment(Flags::ACK, &[], b"x"));
    bytes[6..8].copy_from_slice(&[0x20, 0x05]);
    let read = Packet::parse(&bytes).unwrap();
    let place = Fragment {
        offset: 40,
        more: true,
        identification: 0,
    };
    assert_eq!(read.fragment(), place);
    assert!(read.tcp().is_none() && read.ports().is_none());
    assert_eq!(read.checksum_is_right(), None);
    let transport = [&[TCP, 0, 0, 0x29, 1, 2, 3, 4], &[0; 20][..]].concat();
    let bytes = packet(6, 44, &transport);
    // After a later fragment's header there is only data, whatever header the datagram begins with.
    let mut options = bytes.clone();
    options[40] = 60;
    let read = Packet::parse(&options).unwrap();
    assert_eq!((read.protocol(), read.header_length()), (60, 48));
    let read = Packet::parse(&bytes).unwrap();
    let place = Fragment {
        offset: 40,
        more: true,
        identification: 0x0102_0304,
    };
    assert_eq!((read.fragment(), read.header_length()), (place, 48));
    assert!(read.tcp().is_none());
}

#[test]
fn traffic_class_and_ecn() {
    for (us, them) in [(US, THEM), (US6, THEM6)] {
        let envelope = IpHeader {
            traffic_class: 0xb9,
            hop_limit: 3,
            ..IpHeader::new(us, them, 253)
        };
        let bytes = compose(&envelope, b"").unwrap();
        let read = Packet::parse(&bytes).unwrap();
        assert_eq!((read.traffic_class(), read.ecn()), (0xb9, Ecn::Capable1));
        assert_eq!((read.hop_limit(), read.protocol()), (3, 253));
        assert_eq!(read.checksum_is_right(), None);
    }
    assert!(compose(&IpHeader::new(US, THEM6, TCP), b"").is_err());
    assert!(compose(&IpHeader::new(US, THEM, UDP), &vec![0; 65_516]).is_err());
}

#[test]
fn headers_against_the_rules_are_errors() {
    let good = packet(4, ICMP, &[8, 0, 0, 0, 0, 1, 0, 1]);
    assert_eq!(Packet::parse(&good).unwrap().icmp().unwrap().kind(), 8);
    let spoilt = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        Packet::parse(&bytes).is_err()
    };
    assert!(spoilt(0, 0x44), "a header of 16 bytes");
    assert!(spoilt(0, 0x4f), "a header beyond the packet");
    assert!(spoilt(0, 0x55), "version 5");
    assert!(spoilt(3, 19), "shorter than its header");
    assert!(!spoilt(3, 0), "a length that does not fit");
    assert!(Packet::parse(&good[..19]).is_err() && Packet::parse(&[]).is_err());
    assert!(Packet::parse(&packet(6, TCP, b"")[..39]).is_err());
}

/// Calls everything that can be called.
fn everything(bytes: &[u8]) {
    let Ok(packet) = Packet::parse(bytes) else {
        assert!(PacketMut::parse(&mut bytes.to_vec()).is_err());
        return;
    };
    let _ = (packet.source(), packet.destination(), packet.ports());
    let _ = (
        packet.header_checksum_is_right(),
        packet.checksum_is_right(),
    );
    assert!(packet.header_length() + packet.payload().len() <= bytes.len());
    if let Some(tcp) = packet.tcp() {
        assert!(tcp.options().count() <= 20);
        assert_eq!(&packet.bytes()[tcp.payload_range()], tcp.payload());
    }
    if let Some(udp) = packet.udp() {
        assert_eq!(&packet.bytes()[udp.payload_range()], udp.payload());
    }
    let _ = packet
        .icmp()
        .map(|icmp| (icmp.next_hop_mtu(), icmp.is_error()));
    let router = match packet.version() {
        IpVersion::V4 => US,
        IpVersion::V6 => US6,
    };
    for answer in [reset(&packet), too_big(&packet, router, 1280)]
        .into_iter()
        .flatten()
    {
        let answer = Packet::parse(&answer).unwrap();
        assert_eq!(answer.destination(), packet.source());
        assert!(answer.header_checksum_is_right() && answer.is_complete());
        assert_eq!(answer.checksum_is_right(), Some(true));
    }
    if let Ok(pieces) = fragments(&packet, 68) {
        for piece in pieces {
            assert!(piece.len() <= 68 && Packet::parse(&piece).is_ok());
        }
    }
    let mut copy = bytes.to_vec();
    let mut changed = PacketMut::parse(&mut copy).unwrap();
    changed.set_ecn(Ecn::CongestionExperienced);
    changed.set_hop_limit(1);
    assert_eq!(changed.view().ecn(), Ecn::CongestionExperienced);
    assert_eq!(changed.view().hop_limit(), 1);
    let _ = changed.set_source(router) | changed.set_destination(router);
    let _ = changed.set_source_port(1) | changed.set_destination_port(2);
    let _ = changed.set_tcp_flags(Flags::RST) | changed.set_maximum_segment_size(536);
    let _ = changed.blank_options(|_| true);
    let _ = changed.recompute_checksums();
    assert_eq!(copy.len(), bytes.len());
    assert!(Packet::parse(&copy).is_ok());
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(
        first in proptest::option::of(prop_oneof![Just(0x45_u8), Just(0x4f), Just(0x60)]),
        mut bytes in vec(any::<u8>(), 0..200),
    ) {
        if let (Some(first), Some(byte)) = (first, bytes.first_mut()) {
            *byte = first;
        }
        everything(&bytes);
    }

    #[test]
    fn valid_packets_spoilt_are_read_without_panic(
        mut bytes in valid_packet(),
        changes in vec((any::<Index>(), any::<u8>()), 0..6),
        end in proptest::option::of(any::<Index>()),
    ) {
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(end) = end {
            bytes.truncate(end.index(bytes.len()));
        }
        everything(&bytes);
    }

    #[test]
    fn addresses_are_those_composed(ip in any::<Ipv4Addr>()) {
        let bytes = compose(&IpHeader::new(ip.into(), THEM, 253), b"").unwrap();
        prop_assert_eq!(Packet::parse(&bytes).unwrap().source(), IpAddr::V4(ip));
    }
}
