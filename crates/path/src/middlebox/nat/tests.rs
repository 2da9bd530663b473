//! The NAT's effect on packets in both directions.

use std::net::SocketAddr;

use roundtrip_wire::packet::{
    ICMP, ICMPV6, IpHeader, Packet, UDP, compose, fragments, reset, too_big,
};

use super::super::trial::{
    ACK, CLIENT_PORT, SYN, SYN_ACK, Trial, assert_right, datagram, ends, packet, segment,
    segment_v6,
};
use crate::direction::Direction;
use crate::flow::Flow;

const UP: Direction = Direction::Up;
const DOWN: Direction = Direction::Down;

/// The client's address and port in this packet.
fn client_of(ip: &[u8], way: Direction) -> SocketAddr {
    Flow::from_packet(&Packet::parse(ip).unwrap(), way)
        .unwrap()
        .client
}

/// Returns the same segment, but from another port.
fn from_port(port: u16, ip: &[u8]) -> Vec<u8> {
    let mut bytes = ip.to_vec();
    let mut change = roundtrip_wire::packet::PacketMut::parse(&mut bytes).unwrap();
    assert!(change.set_source_port(port));
    bytes
}

/// The server's reply to the apparent source of the packet.
fn answered(outside: &[u8], answer: &[u8]) -> Vec<u8> {
    let seen = client_of(outside, UP);
    let mut bytes = answer.to_vec();
    let mut change = roundtrip_wire::packet::PacketMut::parse(&mut bytes).unwrap();
    assert!(change.set_destination(seen.ip()));
    if change.view().ports().is_some() {
        assert!(change.set_destination_port(seen.port()));
    }
    bytes
}

#[test]
fn each_connection_has_a_separate_address_and_keeps_it() {
    for (syn, answer, ack) in [
        (
            segment(UP, SYN, &[], b""),
            segment(DOWN, SYN_ACK, &[], b""),
            segment(UP, ACK, &[], b"x"),
        ),
        (
            segment_v6(UP, SYN, &[], b""),
            segment_v6(DOWN, SYN_ACK, &[], b""),
            segment_v6(UP, ACK, &[], b"x"),
        ),
    ] {
        let mut nat = Trial::parse("nat");
        let mut seen = Vec::new();
        for port in 1..=20 {
            let out = nat.one(UP, 0, &from_port(port, &syn)).ip;
            let outside = client_of(&out, UP);
            assert!(super::addresses().any(|address| address == outside.ip()));
            assert!(!seen.contains(&outside) && outside.port() != port);
            seen.push(outside);
            let back = nat.one(DOWN, 1, &answered(&out, &answer)).ip;
            assert_eq!(
                client_of(&back, DOWN),
                client_of(&from_port(port, &syn), UP)
            );
            let again = nat.one(UP, 2, &from_port(port, &ack));
            assert_eq!(client_of(&again.ip, UP), outside);
            assert!(again.remarks[0].starts_with("source "), "{again:?}");
        }
        assert!(seen.windows(2).all(|pair| pair[0].ip() != pair[1].ip()));
    }
}

#[test]
fn unsolicited_packets_do_not_come_in() {
    let mut nat = Trial::parse("nat");
    nat.loses(DOWN, 0, &segment(DOWN, SYN, &[], b""), "nat");
    let out = nat.one(UP, 0, &datagram(UP, false, 53, b"?")).ip;
    let stranger = answered(&out, &datagram(DOWN, false, 54, b"!"));
    nat.loses(DOWN, 0, &stranger, "nat");
    // IGMP, and bytes that are not a packet.
    nat.loses(UP, 0, &packet(UP, false, 2, &[0; 8]), "nat");
    nat.loses(UP, 0, b"", "nat");
}

#[test]
fn a_mapping_ends_in_silence() {
    let mut nat = Trial::parse("nat");
    let minutes = |minutes: u64| minutes * 60_000;
    let (query, answer) = (datagram(UP, true, 53, b"?"), datagram(DOWN, true, 53, b"!"));
    let out = nat.one(UP, 0, &query).ip;
    let back = answered(&out, &answer);
    assert_eq!(nat.one(DOWN, minutes(5), &back).ip, answer);
    assert_eq!(nat.one(UP, minutes(10), &query).ip, out);
    nat.loses(DOWN, minutes(16), &back, "nat");
    assert_ne!(nat.one(UP, minutes(16), &query).ip, out);
}

#[test]
fn echoes_keep_their_identifier() {
    let mut nat = Trial::parse("nat");
    for (is_v6, protocol, kinds) in [(false, ICMP, [8, 0]), (true, ICMPV6, [128, 129])] {
        let [request, reply] = kinds.map(|kind| [kind, 0, 0, 0, 0x12, 0x34, 0, 1]);
        let out = nat.one(UP, 0, &packet(UP, is_v6, protocol, &request)).ip;
        assert_eq!(client_of(&out, UP).port(), 0x1234);
        assert_ne!(Packet::parse(&out).unwrap().source(), ends(UP, is_v6).0);
        let reply = packet(DOWN, is_v6, protocol, &reply);
        assert_eq!(nat.one(DOWN, 1, &answered(&out, &reply)).ip, reply);
    }
}

#[test]
fn errors_name_the_packet_as_each_side_knows_it() {
    for is_v6 in [false, true] {
        let mut nat = Trial::parse("nat");
        let sent = datagram(UP, is_v6, 443, &[7; 1200]);
        let out = nat.one(UP, 0, &sent).ip;
        // A router behind the NAT finds the packet too big.
        let router = if is_v6 {
            "2001:2::fe".parse().unwrap()
        } else {
            "198.18.0.254".parse().unwrap()
        };
        let error = too_big(&Packet::parse(&out).unwrap(), router, 1000).unwrap();
        let told = nat.one(DOWN, 1, &error).ip;
        let read = Packet::parse(&told).unwrap();
        assert_eq!(
            (read.source(), read.destination()),
            (router, ends(UP, is_v6).0)
        );
        assert_eq!(read.icmp().unwrap().next_hop_mtu(), Some(1000));
        let quoted = read.icmp().unwrap().body();
        assert_eq!(quoted, &sent[..quoted.len()]);

        // The client answers that nothing listens there.
        let answer = answered(&out, &datagram(DOWN, is_v6, 443, b"late"));
        let inside = nat.one(DOWN, 2, &answer).ip;
        let (protocol, head) = if is_v6 {
            (ICMPV6, [1, 4, 0, 0, 0, 0, 0, 0])
        } else {
            (ICMP, [3, 3, 0, 0, 0, 0, 0, 0])
        };
        let (client, server) = ends(UP, is_v6);
        let message = [&head[..], &inside].concat();
        let closed = compose(&IpHeader::new(client, server, protocol), &message).unwrap();
        let told = nat.one(UP, 3, &closed).ip;
        let read = Packet::parse(&told).unwrap();
        assert_eq!(read.source(), Packet::parse(&out).unwrap().source());
        assert_eq!(read.icmp().unwrap().body(), answer);
    }
}

#[test]
fn an_error_with_a_wrong_checksum_stays_wrong() {
    let mut nat = Trial::parse("nat");
    let out = nat.one(UP, 0, &datagram(UP, false, 443, &[7; 1200])).ip;
    let router = "198.18.0.254".parse().unwrap();
    let mut error = too_big(&Packet::parse(&out).unwrap(), router, 1000).unwrap();
    error[22] ^= 1;
    nat.loses(DOWN, 1, &error, "nat");
}

#[test]
fn fragments_follow_their_first() {
    let mut nat = Trial::parse("nat");
    let (client, server) = ends(UP, false);
    let envelope = IpHeader {
        fragments_as: Some(77),
        ..IpHeader::new(client, server, UDP)
    };
    let whole = datagram(UP, false, 53, &[9; 3000]);
    let whole = compose(&envelope, &whole[20..]).unwrap();
    let pieces: Vec<Vec<u8>> = fragments(&Packet::parse(&whole).unwrap(), 1500)
        .unwrap()
        .collect();
    nat.loses(UP, 0, &pieces[1], "nat");
    let passed: Vec<Vec<u8>> = pieces
        .iter()
        .map(|piece| nat.one(UP, 0, piece).ip)
        .collect();
    let outside = client_of(&passed[0], UP);
    assert_ne!(outside.port(), CLIENT_PORT);
    // Reassembled, they are a datagram with a right checksum.
    let joined: Vec<u8> = passed
        .iter()
        .flat_map(|piece| piece[20..].to_vec())
        .collect();
    for piece in &passed {
        assert_eq!(Packet::parse(piece).unwrap().source(), outside.ip());
    }
    let before = joined.clone();
    let whole = compose(&IpHeader::new(outside.ip(), server, UDP), &joined).unwrap();
    assert_right(&whole);
    assert_eq!(whole[20..], before);
}

#[test]
fn a_reset_reaches_the_right_client() {
    let mut nat = Trial::parse("nat");
    let syn = segment(UP, SYN, &[], b"");
    let out = nat.one(UP, 0, &syn).ip;
    let refused = reset(&Packet::parse(&out).unwrap()).unwrap();
    let told = nat.one(DOWN, 1, &refused).ip;
    assert_eq!(told, reset(&Packet::parse(&syn).unwrap()).unwrap());
}
