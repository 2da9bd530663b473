//! The packets of RFC 9001 §A, opened and sealed again. Its Retry is tested in `wire`.

use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::quic::DirectionalKeys;

use roundtrip_wire::quic::{Side, Version};

use super::super::InitialKeys;
use super::super::protection::{Opener, Sealer};
use super::id;

const CLIENT_INITIAL: &str = include_str!("../../../../wire/tests/data/quicv1-client-initial.hex");
const SERVER_INITIAL: &str = include_str!("../../../../wire/tests/data/quicv1-server-initial.hex");

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    roundtrip_wire::unhex(&digits).unwrap()
}

fn keys(side: Side) -> InitialKeys {
    InitialKeys::new(&id(&hex("8394c8f03e515708")), Version::V1, side).unwrap()
}

/// RFC 9001 §A.2.
#[test]
fn the_clients_initial() {
    let original = hex(CLIENT_INITIAL);
    let mut packet = original.clone();
    let opened = keys(Side::Server).open(&mut packet, 18, 0).unwrap();
    assert_eq!((opened.number, opened.payload.clone()), (2, 22..1184));
    assert_eq!(
        packet[..22],
        hex("c300000001088394c8f03e5157080000449e00000002")
    );
    let frame = hex("060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e868");
    assert!(packet[22..].starts_with(&frame));
    assert!(packet[22 + 245..1184].iter().all(|byte| *byte == 0));

    packet[1184..].fill(0);
    keys(Side::Client).seal(2, &mut packet, 18, 4).unwrap();
    assert_eq!(packet, original);
}

/// RFC 9001 §A.3.
#[test]
fn the_servers_initial() {
    let original = hex(SERVER_INITIAL);
    let mut packet = original.clone();
    let opened = keys(Side::Client).open(&mut packet, 18, 0).unwrap();
    assert_eq!((opened.number, opened.payload.clone()), (1, 20..119));
    assert_eq!(
        packet[..20],
        hex("c1000000010008f067a5502a4262b50040750001")
    );
    assert!(packet[20..].starts_with(&hex("02000000000600405a020000560303eefce7f7")));

    packet[119..].fill(0);
    keys(Side::Server).seal(1, &mut packet, 18, 2).unwrap();
    assert_eq!(packet, original);
}

/// RFC 9001 §A.5.
#[test]
fn a_short_header_with_chacha20() {
    let keys = || {
        let suite = TLS13_CHACHA20_POLY1305_SHA256.tls13().unwrap();
        let quic = suite.quic_suite().unwrap().quic;
        let secret = |text| -> [u8; 32] { hex(text).try_into().unwrap() };
        let key = secret("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8");
        let mask = secret("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4");
        let iv: [u8; 12] = hex("e0459b3474bdd0e44a41c144").try_into().unwrap();
        DirectionalKeys {
            header: quic.header_protection_key(AeadKey::from(mask)),
            packet: quic.packet_key(AeadKey::from(key), Iv::from(iv)),
        }
    };
    let number = 654_360_564;
    let mut packet = [&hex("4200bff401")[..], &[0; 16]].concat();
    Sealer::new(keys()).seal(number, &mut packet, 1, 3).unwrap();
    assert_eq!(packet, hex("4cfe4189655e5cd55c41f69080575d7999c25a5bfb"));
    let opened = Opener::new(keys()).open(&mut packet, 1, number).unwrap();
    assert_eq!((opened.number, opened.payload), (number, 4..5));
    assert_eq!(packet[..5], hex("4200bff401"));
}
