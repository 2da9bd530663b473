//! A parcel arrives as its datagrams, with their addresses and ECN bits.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use roundtrip_net::datagrams::{MAX_PARCEL_BYTES, MAX_SEGMENTS};

use crate::datagrams::{LOOPBACKS, bind, kernel, parcel, receive};

const COUNT: usize = 44;
const SEGMENT: usize = 1200;

#[test]
fn a_burst_arrives_whole_with_and_without_coalescing() {
    for (address, joined) in LOOPBACKS
        .into_iter()
        .zip([true, false])
        .chain([(LOOPBACKS[0], false), (LOOPBACKS[1], true)])
    {
        let (client, server) = (bind(address), bind(address));
        if !joined {
            kernel::set(&server, libc::SOL_UDP, libc::UDP_GRO, 0);
        }
        // The last one is shorter.
        let bytes: Vec<u8> = (0..COUNT * SEGMENT - 7).map(|n| (n % 251) as u8).collect();
        client.send(&parcel(&server, SEGMENT, &bytes)).unwrap();
        let (came, runs) = receive(&server, COUNT);
        assert_eq!(came.len(), COUNT);
        let sent: Vec<&[u8]> = bytes.chunks(SEGMENT).collect();
        assert!(came.iter().map(|one| &one.bytes[..]).eq(sent), "{address}");
        // Loopback passes a parcel on in one piece, if its reader accepts that.
        assert_eq!(runs == 1, joined, "{address}: {runs} runs");
        let (out, in_) = (client.calls(), server.calls());
        assert_eq!((out.sends, out.datagrams_out), (1, COUNT as u64));
        assert_eq!((in_.datagrams_in, in_.truncated), (COUNT as u64, 0));
        assert_eq!(client.segments(), MAX_SEGMENTS);
    }
}

#[test]
fn the_bounds_are_those_of_the_kernel() {
    for address in LOOPBACKS {
        let (client, server) = (bind(address), bind(address));
        // The longer header of IPv6 counts towards the MTU of loopback.
        let single = MAX_PARCEL_BYTES - if address.is_ipv6() { 20 } else { 0 };
        for (segment, count) in [(16, MAX_SEGMENTS), (MAX_PARCEL_BYTES / 2, 2), (single, 1)] {
            let bytes = vec![1; segment * count];
            client.send(&parcel(&server, segment, &bytes)).unwrap();
            let (came, _) = receive(&server, count);
            assert!(came.iter().all(|one| one.bytes.len() == segment));
        }
        assert_eq!(client.calls().sends, 3);
    }
}

#[test]
fn an_empty_datagram_counts() {
    for address in LOOPBACKS {
        let (client, server) = (bind(address), bind(address));
        client.send(&parcel(&server, 0, &[])).unwrap();
        client.send(&parcel(&server, 9, b"x")).unwrap();
        receive(&server, 1);
        assert_eq!(server.calls().datagrams_in, 2);
    }
}

#[test]
fn ecn_bits_cross() {
    for address in LOOPBACKS {
        let (client, server) = (bind(address), bind(address));
        for ecn in [2, 0, 1, 3] {
            let mut parcel = parcel(&server, 4, b"onetwo");
            parcel.ecn = ecn;
            client.send(&parcel).unwrap();
            let (came, _) = receive(&server, 2);
            assert!(came.iter().all(|one| one.ecn == ecn), "{ecn}: {came:?}");
        }
    }
}

#[test]
fn an_answer_leaves_from_the_address_of_the_query() {
    let anywhere: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    let asked: [IpAddr; 2] = [
        Ipv4Addr::new(127, 0, 0, 2).into(),
        Ipv6Addr::LOCALHOST.into(),
    ];
    for (anywhere, asked) in anywhere.into_iter().zip(asked) {
        let (client, server) = (bind(anywhere), bind(anywhere));
        let at = (asked, server.local_addr().unwrap().port()).into();
        let mut question = parcel(&server, 9, b"?");
        question.to = at;
        client.send(&question).unwrap();
        let (came, _) = receive(&server, 1);
        assert_eq!(came[0].to, Some(asked));
        let mut answer = parcel(&client, 1, b"..");
        (answer.to, answer.from) = (came[0].from, came[0].to);
        server.send(&answer).unwrap();
        let (came, _) = receive(&client, 2);
        assert!(came.iter().all(|one| one.from == at), "{came:?}");
    }
}

#[test]
fn a_connected_socket_receives_only_from_its_peer() {
    let address = Ipv4Addr::LOCALHOST.into();
    let (mut one, peer, stranger) = (bind(address), bind(address), bind(address));
    one.connect(peer.local_addr().unwrap()).unwrap();
    stranger.send(&parcel(&one, 100, b"stranger")).unwrap();
    peer.send(&parcel(&one, 100, b"peer")).unwrap();
    one.send(&parcel(&peer, 100, b"one")).unwrap();
    assert_eq!(receive(&one, 1).0[0].bytes, b"peer");
    assert_eq!(receive(&peer, 1).0[0].bytes, b"one");
}

#[test]
fn a_dual_stack_socket_uses_both_families() {
    let both = socket2::Socket::new(socket2::Domain::IPV6, socket2::Type::DGRAM, None).unwrap();
    both.set_only_v6(false).unwrap();
    let any: std::net::SocketAddr = (Ipv6Addr::UNSPECIFIED, 0).into();
    both.bind(&any.into()).unwrap();
    let server = roundtrip_net::datagrams::Datagrams::from_socket(both.into()).unwrap();
    let client = bind(LOOPBACKS[0]);
    let mut question = parcel(&server, 1, b"??");
    question.to.set_ip(LOOPBACKS[0]);
    question.ecn = 1;
    client.send(&question).unwrap();
    let (came, _) = receive(&server, 2);
    assert!(came.iter().all(|one| one.ecn == 1), "{came:?}");
    assert_eq!(came[0].to.map(|to| to.to_canonical()), Some(LOOPBACKS[0]));
    let mut answer = parcel(&client, 1, b"..");
    (answer.to, answer.from, answer.ecn) = (came[0].from, came[0].to, 2);
    server.send(&answer).unwrap();
    let (came, _) = receive(&client, 2);
    assert!(came.iter().all(|one| one.ecn == 2), "{came:?}");
}
