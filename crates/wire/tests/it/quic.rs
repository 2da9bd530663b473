//! Opened QUIC Initials: the vectors of RFC 9001 §A and RFC 9369 §A, and datagrams composed of
//! them.

use roundtrip_wire::Error;
use roundtrip_wire::quic::{
    ConnectionId, CryptoStream, Frame, Frames, InitialKeys, LongKind, LongPacket, OpenedInitial,
    Packet, Packets, Retry, Side, Version, retry_is_authentic,
};
use roundtrip_wire::tls::{ClientHello, Group, HandshakeKind, Handshakes, ServerHello};

use crate::hex;

const V1_CLIENT: &str = include_str!("../data/quicv1-client-initial.hex");
const V1_SERVER: &str = include_str!("../data/quicv1-server-initial.hex");
const V2_CLIENT: &str = include_str!("../data/quicv2-client-initial.hex");
const V2_SERVER: &str = include_str!("../data/quicv2-server-initial.hex");
const V1_RETRY: &str = "ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba";
const V2_RETRY: &str = "cf6b3343cf0008f067a5502a4262b5746f6b656ec8646ce8bfe33952d955543665dcc7b6";

fn destination() -> ConnectionId {
    id("8394c8f03e515708")
}

fn id(text: &str) -> ConnectionId {
    ConnectionId::new(&hex(text)).unwrap()
}

fn packets(datagram: &[u8]) -> Vec<Packet<'_>> {
    Packets::new(datagram).map(Result::unwrap).collect()
}

fn long(datagram: &[u8]) -> LongPacket<'_> {
    match packets(datagram).as_slice() {
        [Packet::Long(packet), ..] => packet.clone(),
        other => panic!("{other:?}"),
    }
}

fn open(datagram: &[u8], version: Version, side: Side) -> OpenedInitial {
    let keys = InitialKeys::derive(version, &destination()).unwrap();
    keys.open(side, &long(datagram), None).unwrap()
}

fn stream(opened: &OpenedInitial) -> CryptoStream {
    let mut stream = CryptoStream::default();
    stream.push_payload(&opened.payload).unwrap();
    stream
}

#[test]
fn client_hellos_of_the_vectors_are_read() {
    for (text, version) in [(V1_CLIENT, Version::V1), (V2_CLIENT, Version::V2)] {
        let datagram = hex(text);
        let packet = long(&datagram);
        assert_eq!((packet.kind, packet.version), (LongKind::Initial, version));
        assert_eq!((packet.destination, packet.token), (destination(), &[][..]));
        let opened = open(&datagram, version, Side::Client);
        assert_eq!((opened.number, opened.payload.len()), (2, 1162));

        let stream = stream(&opened);
        let message = Handshakes::new(stream.contiguous()).next().unwrap();
        assert_eq!(message.kind, HandshakeKind::CLIENT_HELLO);
        let hello = ClientHello::parse(message.body).unwrap();
        assert_eq!(hello.server_name.as_deref(), Some("example.com"));
        assert_eq!((hello.alpn, hello.length), (vec!["alpn".to_owned()], 241));
        assert!(hello.quic_parameters.is_some());
    }
}

#[test]
fn server_hellos_of_the_vectors_are_read() {
    for (text, version) in [(V1_SERVER, Version::V1), (V2_SERVER, Version::V2)] {
        let datagram = hex(text);
        let opened = open(&datagram, version, Side::Server);
        assert_eq!(opened.number, 1);
        let frames: Vec<_> = Frames::new(&opened.payload).map(Result::unwrap).collect();
        let Frame::Ack(ack) = &frames[0] else {
            panic!("{frames:?}");
        };
        assert_eq!((ack.largest, ack.delay, ack.ecn), (0, 0, None));
        assert_eq!(ack.ranges().collect::<Vec<_>>(), [0..=0]);
        assert!(matches!(frames[1], Frame::Crypto { offset: 0, data } if data.len() == 90));

        let stream = stream(&opened);
        let message = Handshakes::new(stream.contiguous()).next().unwrap();
        let hello = ServerHello::parse(message.body).unwrap();
        assert_eq!(hello.version, roundtrip_wire::tls::Version::TLS13);
        assert_eq!(hello.cipher_suite.name(), Some("TLS_AES_128_GCM_SHA256"));
        assert_eq!(hello.group, Some(Group::X25519));
    }
}

#[test]
fn wrong_keys_and_broken_packets_do_not_open() {
    let datagram = hex(V1_SERVER);
    let keys = InitialKeys::derive(Version::V1, &destination()).unwrap();
    assert_eq!(
        keys.open(Side::Client, &long(&datagram), None),
        Err(Error::Protected)
    );
    let other = InitialKeys::derive(Version::V1, &id("01")).unwrap();
    assert_eq!(
        other.open(Side::Server, &long(&datagram), None),
        Err(Error::Protected)
    );
    let mut changed = datagram.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert_eq!(
        keys.open(Side::Server, &long(&changed), None),
        Err(Error::Protected)
    );
    let v2 = hex(V2_SERVER);
    assert!(keys.open(Side::Server, &long(&v2), None).is_err());
    assert_eq!(
        InitialKeys::derive(Version(0xff00_001d), &destination()).err(),
        Some(Error::QuicVersion(0xff00_001d))
    );
    // A length of 3 leaves no room for the sample.
    let tiny = hex("c00000000100000003010203");
    assert!(keys.open(Side::Client, &long(&tiny), None).is_err());
}

#[test]
fn retries_are_recognized_and_verified() {
    for (text, version) in [(V1_RETRY, Version::V1), (V2_RETRY, Version::V2)] {
        let datagram = hex(text);
        let found = packets(&datagram);
        let [Packet::Retry(retry)] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!((retry.version, retry.token), (version, &b"token"[..]));
        assert_eq!(retry.source, id("f067a5502a4262b5"));
        assert_eq!(retry_is_authentic(retry, &destination()), Ok(true));
        assert_eq!(
            retry_is_authentic(retry, &ConnectionId::default()),
            Ok(false)
        );
        let forged = Retry {
            bytes: &datagram[..20],
            ..retry.clone()
        };
        assert_eq!(retry_is_authentic(&forged, &destination()), Ok(false));
    }
}

#[test]
fn version_negotiation_and_unknown_versions_are_recognized() {
    let datagram = hex("80 00000000 01aa 02bbcc 00000001 6b3343cf 1a2a3a4a");
    assert_eq!(
        packets(&datagram),
        [Packet::VersionNegotiation {
            destination: &[0xaa],
            source: &[0xbb, 0xcc],
            versions: vec![Version::V1, Version::V2, Version(0x1a2a_3a4a)],
        }]
    );
    assert!(Version(0x1a2a_3a4a).is_grease());
    // RFC 8999 §5.1: ids of other versions may be longer than 20 bytes.
    let datagram = [hex("c0 ff00001d 1e"), vec![7; 30], hex("00 010203")].concat();
    assert!(matches!(
        packets(&datagram).as_slice(),
        [Packet::Unknown { version: Version(0xff00_001d), destination, .. }] if destination.len() == 30
    ));
}

#[test]
fn coalesced_packets_are_told_apart() {
    let initial = hex(V1_SERVER);
    let handshake = hex("e0 00000001 00 01aa 05 0102030405");
    let zero_rtt = hex("d0 00000001 00 01aa 02 0102");
    let short = hex("60 0102030405");
    let datagram = [&initial[..], &handshake, &zero_rtt, &short].concat();
    let found = packets(&datagram);
    let [
        Packet::Long(a),
        Packet::Long(b),
        Packet::Long(c),
        Packet::Short { spin: true, bytes },
    ] = found.as_slice()
    else {
        panic!("{found:?}");
    };
    assert_eq!(
        [a.kind, b.kind, c.kind],
        [LongKind::Initial, LongKind::Handshake, LongKind::ZeroRtt]
    );
    assert_eq!(
        (a.bytes, b.bytes, *bytes),
        (&initial[..], &handshake[..], &short[..])
    );

    let padded = [&initial[..], &[0; 40]].concat();
    assert_eq!(packets(&padded).len(), 1);
}

#[test]
fn what_is_no_packet_ends_the_datagram() {
    for datagram in [
        hex("01"),                                 // no fixed bit
        hex("a0 00000001 00 01aa 05 0102030405"),  // none in a long header of version 1
        hex("c0 000000"),                          // a version cut short
        hex("c0 00000001 15"),                     // an id of 21 bytes
        hex("c0 00000001 00 00 00 05 01"),         // a length beyond the datagram
        hex("c0 00000001 00 00 ffffffffffffffff"), // a token beyond everything
        hex("f0 00000001 00 00 0102"),             // a Retry without its tag
        hex("80 00000000 00 00 0000"),             // half a version
    ] {
        let found: Vec<_> = Packets::new(&datagram).collect();
        assert!(
            matches!(found.as_slice(), [Err(_)]),
            "{datagram:02x?}: {found:?}"
        );
    }
}
