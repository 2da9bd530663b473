//! Resets and "too big".

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use roundtrip_wire::packet::{
    Flags, ICMP, ICMPV6, IpHeader, Packet, PacketMut, TCP, UDP, compose, reset, too_big,
};

use super::arbitrary::{THEM, US, US6, datagram, packet, segment, valid_packet};

const ROUTER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1));
const ROUTER6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xff));

#[test]
fn a_syn_is_reset_with_what_it_took() {
    // RFC 9293 §3.10.7.1: <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>.
    for version in [4, 6] {
        let asked = packet(
            version,
            TCP,
            &segment(Flags::SYN, &[2, 4, 5, 0xb4], b"hello"),
        );
        let asked = Packet::parse(&asked).unwrap();
        let answer = reset(&asked).unwrap();
        let answer = Packet::parse(&answer).unwrap();
        assert_eq!(answer.source(), asked.destination());
        assert_eq!(answer.destination(), asked.source());
        assert_eq!(answer.ports(), Some((443, 40_000)));
        let tcp = answer.tcp().unwrap();
        assert_eq!(tcp.flags(), Flags::RST | Flags::ACK);
        assert_eq!((tcp.sequence(), tcp.acknowledgment()), (0, 1000 + 5 + 1));
        assert_eq!(answer.checksum_is_right(), Some(true));
        assert!(answer.header_checksum_is_right());
    }
}

#[test]
fn an_acknowledgement_is_reset_at_its_number() {
    // RFC 9293 §3.10.7.1: <SEQ=SEG.ACK><CTL=RST>.
    let asked = packet(4, TCP, &segment(Flags::ACK | Flags::FIN, &[], b"x"));
    let answer = reset(&Packet::parse(&asked).unwrap()).unwrap();
    let answer = Packet::parse(&answer).unwrap();
    let tcp = answer.tcp().unwrap();
    assert_eq!((tcp.flags(), tcp.sequence()), (Flags::RST, 2000));
    assert_eq!((tcp.acknowledgment(), tcp.window()), (0, 0));
}

#[test]
fn some_are_not_reset() {
    let no_answer = |bytes: &[u8]| reset(&Packet::parse(bytes).unwrap()).is_none();
    assert!(no_answer(&packet(4, TCP, &segment(Flags::RST, &[], b""))));
    assert!(no_answer(&packet(4, UDP, &datagram(b""))));
    let group = IpAddr::from([224, 0, 0, 1]);
    let to_group = compose(
        &IpHeader::new(US, group, TCP),
        &segment(Flags::SYN, &[], b""),
    );
    assert!(no_answer(&to_group.unwrap()));
}

#[test]
fn too_big_tells_the_mtu_and_quotes_the_packet() {
    let asked = packet(4, UDP, &datagram(&[9; 1400]));
    let answer = too_big(&Packet::parse(&asked).unwrap(), ROUTER, 1280).unwrap();
    assert_eq!(answer.len(), 576);
    let answer = Packet::parse(&answer).unwrap();
    assert_eq!((answer.source(), answer.destination()), (ROUTER, US));
    assert_eq!(
        (answer.protocol(), answer.checksum_is_right()),
        (ICMP, Some(true))
    );
    let icmp = answer.icmp().unwrap();
    assert_eq!((icmp.kind(), icmp.code()), (3, 4));
    assert_eq!(icmp.next_hop_mtu(), Some(1280));
    let quoted = Packet::parse(icmp.body()).unwrap();
    assert_eq!(
        (quoted.destination(), quoted.ports()),
        (THEM, Some((40_000, 53)))
    );
    assert!(!quoted.is_complete());

    let asked = packet(6, UDP, &datagram(&[9; 1400]));
    let answer = too_big(&Packet::parse(&asked).unwrap(), ROUTER6, 1300).unwrap();
    assert_eq!(answer.len(), 1280);
    let answer = Packet::parse(&answer).unwrap();
    assert_eq!(
        (answer.protocol(), answer.checksum_is_right()),
        (ICMPV6, Some(true))
    );
    assert_eq!(answer.destination(), US6);
    let icmp = answer.icmp().unwrap();
    assert_eq!(
        (icmp.kind(), icmp.code(), icmp.next_hop_mtu()),
        (2, 0, Some(1300))
    );
    assert_eq!(icmp.body(), &asked[..1280 - 48]);
}

#[test]
fn routers_keep_silent_about_some() {
    let no_answer =
        |bytes: &[u8], router| too_big(&Packet::parse(bytes).unwrap(), router, 1280).is_none();
    let error = packet(4, ICMP, &[3, 4, 0, 0, 0, 0, 5, 0, 0x45, 0]);
    assert!(no_answer(&error, ROUTER));
    assert!(!no_answer(
        &packet(4, ICMP, &[8, 0, 0, 0, 0, 0, 0, 0]),
        ROUTER
    ));
    assert!(no_answer(
        &packet(6, ICMPV6, &[2, 0, 0, 0, 0, 0, 5, 0]),
        ROUTER6
    ));
    assert!(!no_answer(
        &packet(6, ICMPV6, &[128, 0, 0, 0, 0, 0, 5, 0]),
        ROUTER6
    ));
    assert!(no_answer(&packet(6, UDP, &datagram(b"")), ROUTER));
    let mut later = packet(4, UDP, &datagram(b"query"));
    later[7] = 1;
    assert!(no_answer(&later, ROUTER));
}

proptest! {
    #[test]
    fn answers_are_parseable(mut bytes in valid_packet()) {
        // A random address may be a multicast group.
        let mut change = PacketMut::parse(&mut bytes).unwrap();
        let is_v4 = change.view().source().is_ipv4();
        let (us, router) = if is_v4 { (US, ROUTER) } else { (US6, ROUTER6) };
        prop_assert!(change.set_source(us) && change.set_destination(us));
        let asked = change.view();
        if let Some(segment) = asked.tcp() {
            let answer = reset(&asked);
            prop_assert_eq!(answer.is_none(), segment.flags().contains(Flags::RST));
            if let Some(answer) = answer {
                let answer = Packet::parse(&answer).unwrap();
                prop_assert_eq!(answer.checksum_is_right(), Some(true));
                prop_assert!(answer.tcp().unwrap().flags().contains(Flags::RST));
            }
        }
        let is_error = asked.icmp().is_some_and(|icmp| icmp.is_error());
        let answer = too_big(&asked, router, 1280);
        prop_assert_eq!(answer.is_none(), is_error);
        if let Some(answer) = answer {
            let answer = Packet::parse(&answer).unwrap();
            prop_assert_eq!(answer.checksum_is_right(), Some(true));
            prop_assert_eq!(answer.icmp().unwrap().body(), asked.bytes());
        }
    }
}
