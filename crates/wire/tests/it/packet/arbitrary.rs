//! Packets to test with: handmade or random.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use roundtrip_wire::packet::{Flags, ICMP, ICMPV6, IpHeader, TCP, UDP, compose};

pub(crate) const US: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub(crate) const THEM: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7));
pub(crate) const US6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
pub(crate) const THEM6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 7));

/// A segment from port 40000 to 443, sequence 1000, acknowledgment 2000, window 500.
pub(crate) fn segment(flags: Flags, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut options = options.to_vec();
    options.resize(options.len().next_multiple_of(4), 0);
    let words = 5 + options.len() as u8 / 4;
    let mut bytes = vec![0x9c, 0x40, 0x01, 0xbb, 0, 0, 3, 232, 0, 0, 7, 208];
    bytes.extend([
        words << 4 | u8::from(flags.contains(Flags::AE)),
        low_bits(flags),
    ]);
    bytes.extend([1, 244, 0, 0, 0, 0]);
    bytes.extend(options);
    bytes.extend(payload);
    bytes
}

fn low_bits(flags: Flags) -> u8 {
    let all = [
        Flags::FIN,
        Flags::SYN,
        Flags::RST,
        Flags::PSH,
        Flags::ACK,
        Flags::URG,
        Flags::ECE,
        Flags::CWR,
    ];
    let bits = all.iter().enumerate();
    bits.map(|(bit, flag)| u8::from(flags.contains(*flag)) << bit)
        .sum()
}

pub(crate) fn datagram(payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len() as u16).to_be_bytes();
    let mut bytes = vec![0x9c, 0x40, 0, 53];
    // A checksum that is not zero, to be filled in.
    bytes.extend([length[0], length[1], 0xff, 0xff]);
    bytes.extend(payload);
    bytes
}

/// From us to them.
pub(crate) fn packet(version: u8, protocol: u8, transport: &[u8]) -> Vec<u8> {
    let (us, them) = if version == 4 {
        (US, THEM)
    } else {
        (US6, THEM6)
    };
    compose(&IpHeader::new(us, them, protocol), transport).unwrap()
}

pub(crate) fn address(is_v4: bool) -> BoxedStrategy<IpAddr> {
    if is_v4 {
        any::<Ipv4Addr>().prop_map(IpAddr::V4).boxed()
    } else {
        any::<Ipv6Addr>().prop_map(IpAddr::V6).boxed()
    }
}

pub(crate) fn flags() -> impl Strategy<Value = Flags> {
    let all = vec![
        Flags::FIN,
        Flags::SYN,
        Flags::RST,
        Flags::ACK,
        Flags::ECE,
        Flags::CWR,
        Flags::AE,
    ];
    proptest::sample::subsequence(all, 0..=7)
        .prop_map(|flags| flags.into_iter().fold(Flags::default(), |a, b| a | b))
}

fn options() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&[u8]> = vec![
        &[1],
        &[2, 4, 5, 0xb4],
        &[3, 3, 7],
        &[4, 2],
        &[34, 6, 1, 2, 3, 4],
        &[254, 4, 0xf9, 0x89],
        &[8, 10, 1, 2, 3, 4, 5, 6, 7, 8],
        &[30, 4, 0, 1],
    ];
    vec(proptest::sample::select(known), 0..5).prop_map(|options| {
        let mut bytes = options.concat();
        bytes.truncate(40);
        bytes
    })
}

fn transport() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let payload = || vec(any::<u8>(), 0..90);
    prop_oneof![
        (flags(), options(), payload())
            .prop_map(|(flags, options, payload)| (TCP, segment(flags, &options, &payload))),
        payload().prop_map(|payload| (UDP, datagram(&payload))),
        (any::<[u8; 8]>(), payload())
            .prop_map(|(head, payload)| (ICMP, [&head[..], &payload].concat())),
    ]
}

/// With right checksums.
pub(crate) fn valid_packet() -> impl Strategy<Value = Vec<u8>> {
    let addresses = any::<bool>().prop_flat_map(|is_v4| (address(is_v4), address(is_v4)));
    let rest = (any::<u8>(), any::<u8>(), option::of(any::<u16>()));
    (addresses, transport(), rest).prop_map(
        |((source, destination), (protocol, transport), (hop_limit, traffic_class, number))| {
            let protocol = match protocol {
                ICMP if source.is_ipv6() => ICMPV6,
                protocol => protocol,
            };
            let envelope = IpHeader {
                hop_limit,
                traffic_class,
                fragments_as: number,
                ..IpHeader::new(source, destination, protocol)
            };
            compose(&envelope, &transport).unwrap()
        },
    )
}
