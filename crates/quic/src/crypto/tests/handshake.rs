//! Handshakes that succeed, whatever the network does to them.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{cipher_suite, kx_group};
use rustls::{CipherSuite, HandshakeKind, NamedGroup};

use roundtrip_wire::quic::{Side, Version};

use super::super::{Crypto, Level, OpenError};
use super::{Configs, Ends, NAME, Packet, id, other, provider, shaken};

#[test]
fn both_ends_know_the_same_after_a_handshake() {
    let ends = shaken();
    for end in [&ends.client, &ends.server] {
        assert!(end.is_handshake_complete());
        assert_eq!(end.alpn(), Some(&b"test"[..]));
        assert_eq!(end.server_name(), Some(NAME));
        assert_eq!(end.cipher(), Some(CipherSuite::TLS13_AES_256_GCM_SHA384));
        assert_eq!(end.handshake_kind(), Some(HandshakeKind::Full));
        assert!(!end.is_resumed());
        assert_eq!((end.key_phase(), end.key_updates()), (false, 0));
        assert_eq!(end.failure(), None);
    }
    assert_eq!(
        (ends.client.side(), ends.server.side()),
        (Side::Client, Side::Server)
    );
    assert!(ends.client.group().is_some());
    assert_eq!(ends.client.group(), ends.server.group());
    assert_eq!(ends.client.peer_parameters(), Some(&b"of the server"[..]));
    assert_eq!(ends.server.peer_parameters(), Some(&b"of the client"[..]));
    assert_eq!(ends.client.peer_certificates().map(<[_]>::len), Some(1));
    assert_eq!(ends.server.peer_certificates(), None);
    assert_eq!(ends.client.early_accepted(), None);
    assert_eq!(ends.server.early_accepted(), Some(false));
}

#[test]
fn packets_pass_both_ways_after_a_handshake() {
    let mut ends = shaken();
    for from in [Side::Client, Side::Server] {
        let opened = ends.pass(from, 300).unwrap();
        assert_eq!((opened.number, opened.payload), (300, 9..20));
        // Neither end opens what it has sealed itself.
        let mut own = super::seal(ends.end(from), Level::OneRtt, 301, b"frames").unwrap();
        assert_eq!(
            ends.open(from, &mut own, 301),
            Err(OpenError::Undecryptable)
        );
    }
}

#[test]
fn keys_come_one_after_the_other() {
    let mut ends = Configs::new().meet();
    let has = |end: &Crypto| {
        [Level::Initial, Level::Handshake, Level::OneRtt]
            .map(|level| (end.has(level), end.can_open(level)))
    };
    let (none, write, both) = ((false, false), (true, false), (true, true));
    assert_eq!(has(&ends.client), [both, none, none]);
    assert_eq!(has(&ends.server), [both, none, none]);
    assert_eq!(ends.client.peer_parameters(), None);

    for packet in ends.send(Side::Client, 1200) {
        ends.deliver(&packet).unwrap();
    }
    // It may send before it has verified the client, but it opens no packet of that level. RFC 9001
    // §5.7.
    assert_eq!(has(&ends.server), [both, both, write]);
    assert!(ends.server.awaits(Level::OneRtt) && !ends.server.awaits(Level::Handshake));
    assert!(ends.server.peer_parameters().is_some());
    assert!(!ends.server.is_handshake_complete());

    for packet in ends.send(Side::Server, 1200) {
        ends.deliver(&packet).unwrap();
    }
    assert_eq!(has(&ends.client), [both, both, both]);
    let mut early = super::seal(&mut ends.client, Level::OneRtt, 9, b"frames").unwrap();
    assert_eq!(
        ends.open(Side::Server, &mut early.clone(), 9),
        Err(OpenError::NoKeys)
    );
    ends.shake().unwrap();
    assert_eq!(has(&ends.server), [both, both, both]);
    assert_eq!(
        ends.open(Side::Server, &mut early, 9)
            .map(|opened| opened.number),
        Ok(9)
    );
}

#[test]
fn what_is_discarded_is_gone() {
    let mut ends = Configs::new().meet();
    let mut first = ends.send(Side::Client, 1200).remove(0);
    ends.client.on_lost(Level::Initial, 0, 100);
    assert!(ends.client.wants_to_send(Level::Initial));
    ends.client.discard(Level::Initial);
    assert!(!ends.client.wants_to_send(Level::Initial));
    assert!(ends.client.chunk(Level::Initial, 1200).is_none());
    ends.client.on_lost(Level::Initial, 0, 100);
    assert!(!ends.client.wants_to_send(Level::Initial));
    ends.server.discard(Level::Initial);
    let closed = super::open(&mut ends.server, Level::Initial, &mut first.bytes, 0);
    assert_eq!(closed, Err(OpenError::NoKeys));
    assert!(!ends.server.awaits(Level::Initial));
    assert!(super::seal(&mut ends.server, Level::Initial, 0, b"frames").is_err());
}

#[test]
fn a_retry_begins_anew_with_the_same_hello() {
    let configs = Configs::new();
    let (client, server) = (Arc::new(configs.client), Arc::new(configs.server));
    let mut ends = Ends::new(&client, &server, Version::V1);
    let before = ends.send(Side::Client, 100);
    assert!(before.len() > 1);
    let chosen = id(b"chosen by the server");
    ends.client.restart(&chosen);
    ends.server = Crypto::server(server, b"of the server".to_vec(), &chosen, Version::V1).unwrap();
    let mut old = before.into_iter().next().unwrap();
    let closed = super::open(&mut ends.server, Level::Initial, &mut old.bytes, 0);
    assert_eq!(closed, Err(OpenError::Undecryptable));
    ends.shake().unwrap();
    assert!(ends.server.is_handshake_complete());
}

#[test]
fn every_version_and_cipher_works() {
    for (suite, version) in [
        (cipher_suite::TLS13_AES_128_GCM_SHA256, Version::V1),
        (cipher_suite::TLS13_AES_256_GCM_SHA384, Version::V2),
        (cipher_suite::TLS13_CHACHA20_POLY1305_SHA256, Version::V1),
    ] {
        let server = CryptoProvider {
            cipher_suites: vec![suite],
            ..provider()
        };
        let configs = Configs::with(provider(), server);
        let mut ends = Ends::new(&configs.client.into(), &configs.server.into(), version);
        ends.shake().unwrap();
        assert_eq!(ends.client.cipher(), Some(suite.suite()));
        for from in [Side::Client, Side::Server] {
            assert_eq!(ends.pass(from, 77).map(|opened| opened.number), Ok(77));
        }
    }
}

#[test]
fn a_client_asked_for_another_share_sends_a_second_hello() {
    let server = CryptoProvider {
        kx_groups: vec![kx_group::SECP256R1],
        ..provider()
    };
    let mut ends = Configs::with(provider(), server).meet();
    ends.shake().unwrap();
    let kind = Some(HandshakeKind::FullWithHelloRetryRequest);
    assert_eq!(
        (ends.client.handshake_kind(), ends.server.handshake_kind()),
        (kind, kind)
    );
    assert_eq!(ends.client.group(), Some(NamedGroup::secp256r1));
    assert!(ends.server.is_handshake_complete());
}

/// Numbers that depend only on the seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Packets of any size overtake each other, are lost, or come twice; acknowledgements may or may
/// not arrive.
#[test]
fn no_order_of_packets_stops_a_handshake() {
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let mut ends = Configs::new().meet();
        let mut flying: Vec<Packet> = Vec::new();
        for step in 0.. {
            assert!(step < 100_000, "seed {seed} makes no progress");
            for side in [Side::Client, Side::Server] {
                let room = 1 + dice.roll(700) as usize;
                flying.extend(ends.send(side, room));
            }
            if flying.is_empty() {
                break;
            }
            let next = dice.roll(flying.len() as u64) as usize;
            let packet = flying.swap_remove(next);
            let (offset, length) = (packet.offset, packet.length as u64);
            let (from, level) = (other(packet.to), packet.level);
            match dice.roll(8) {
                0 | 1 => ends.end(from).on_lost(level, offset, length),
                2 => {
                    ends.deliver(&packet).unwrap();
                    ends.end(from).on_lost(level, offset, length);
                }
                _ if ends.deliver(&packet).unwrap() => {
                    ends.end(from).on_acked(level, offset, length);
                }
                _ => flying.push(packet),
            }
        }
        for end in [&ends.client, &ends.server] {
            assert!(end.is_handshake_complete(), "seed {seed}");
            for level in [Level::Initial, Level::Handshake, Level::OneRtt] {
                assert!(!end.wants_to_send(level));
            }
        }
        ends.pass(Side::Server, ends.next).unwrap();
        ends.pass(Side::Client, ends.next).unwrap();
    }
}
