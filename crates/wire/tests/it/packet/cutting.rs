//! Fragments of IPv4.

use proptest::prelude::*;
use roundtrip_wire::packet::{IpHeader, Packet, UDP, compose, fragments};

use super::arbitrary::{THEM, US, datagram, packet};

fn to_cut(length: usize) -> Vec<u8> {
    let envelope = IpHeader {
        fragments_as: Some(77),
        ..IpHeader::new(US, THEM, UDP)
    };
    let payload: Vec<u8> = (0..length).map(|n| n as u8).collect();
    compose(&envelope, &datagram(&payload)).unwrap()
}

#[test]
fn some_packets_are_not_cut() {
    let cut =
        |bytes: &[u8], mtu| fragments(&Packet::parse(bytes).unwrap(), mtu).map(Iterator::count);
    assert!(cut(&packet(4, UDP, &datagram(&[0; 90])), 68).is_err());
    assert!(cut(&packet(6, UDP, &datagram(&[0; 90])), 68).is_err());
    assert!(cut(&to_cut(90), 27).is_err());
    assert!(cut(&to_cut(90)[..100], 68).is_err());
    assert_eq!(cut(&to_cut(90), 118), Ok(1));
    assert_eq!(cut(&packet(4, UDP, &datagram(&[0; 90])), 118), Ok(1));
    assert_eq!(cut(&to_cut(90), 117), Ok(2));
    // A fragment that ends beyond the largest datagram.
    let mut beyond = to_cut(90);
    beyond[6..8].copy_from_slice(&[0x1f, 0xff]);
    assert!(cut(&beyond, 68).is_err());
}

#[test]
fn options_that_are_to_be_copied_are_in_each() {
    let mut bytes = to_cut(90);
    // Record route (not copied), stream id (copied), end.
    let options = [7, 3, 4, 136, 4, 1, 2, 0];
    bytes.splice(20..20, options);
    bytes[0] = 0x47;
    bytes[3] += 8;
    let packet = Packet::parse(&bytes).unwrap();
    let pieces: Vec<_> = fragments(&packet, 68).unwrap().collect();
    assert_eq!(pieces[0][..1], [0x47]);
    assert_eq!(pieces[0][20..28], options);
    assert_eq!(pieces[1][..1], [0x46]);
    assert_eq!(pieces[1][20..24], [136, 4, 1, 2]);
    let parsed = |piece: &Vec<u8>| Packet::parse(piece).unwrap().header_checksum_is_right();
    assert!(pieces.iter().all(parsed));
}

proptest! {
    #[test]
    fn fragments_make_the_packet_again(length in 0_usize..3000, mtu in 28_usize..1600, then in 28_usize..200) {
        let bytes = to_cut(length);
        let whole = Packet::parse(&bytes).unwrap();
        let mut payload: Vec<u8> = Vec::new();
        let pieces: Vec<_> = fragments(&whole, mtu).unwrap().collect();
        // And again, by a router with a smaller link.
        let again = |piece: &Vec<u8>| {
            fragments(&Packet::parse(piece).unwrap(), then).unwrap().collect::<Vec<_>>()
        };
        let pieces: Vec<_> = pieces.iter().flat_map(again).collect();
        let count = pieces.len();
        for (index, piece) in pieces.iter().enumerate() {
            prop_assert!(piece.len() <= mtu.min(then));
            let piece = Packet::parse(piece).unwrap();
            prop_assert!(piece.header_checksum_is_right() && piece.is_complete());
            prop_assert_eq!(usize::from(piece.fragment().offset), payload.len());
            prop_assert_eq!(piece.fragment().more, index + 1 < count);
            prop_assert_eq!(piece.fragment().identification, 77);
            payload.extend(piece.payload());
        }
        prop_assert_eq!(payload, whole.payload());
    }
}
