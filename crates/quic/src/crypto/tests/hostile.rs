//! No input causes a panic or is accepted, and a valid packet is still opened afterwards.

use proptest::prelude::*;

use roundtrip_wire::quic::Side;

use super::super::{InitialKeys, Level, OpenError};
use super::{Configs, NUMBER_AT, id, open, seal, shaken};
use crate::Time;

const LEVELS: [Level; 4] = [
    Level::Initial,
    Level::Early,
    Level::Handshake,
    Level::OneRtt,
];

#[test]
fn any_bytes_at_any_place_are_refused() {
    let mut ends = shaken();
    let strategy = (
        prop::collection::vec(any::<u8>(), 0..60),
        prop_oneof![0..80_usize, Just(usize::MAX), Just(usize::MAX - 3)],
        prop_oneof![any::<u64>(), Just(0), Just(1 << 62)],
    );
    let mut runner = proptest::test_runner::TestRunner::default();
    let server = std::cell::RefCell::new(&mut ends.server);
    let run = runner.run(&strategy, |(bytes, number_at, expected)| {
        for level in LEVELS {
            let mut server = server.borrow_mut();
            let closed = server.open(level, &mut bytes.clone(), number_at, expected, Time(1));
            let is_refused = matches!(closed, Err(OpenError::Undecryptable | OpenError::NoKeys));
            prop_assert!(is_refused, "{:?}", closed);
        }
        Ok(())
    });
    run.unwrap();
    ends.pass(Side::Client, 1).unwrap();
}

#[test]
fn every_changed_bit_is_noticed() {
    let mut ends = shaken();
    let good = seal(&mut ends.client, Level::OneRtt, 1, b"some frames").unwrap();
    for at in 0..good.len() * 8 {
        let mut changed = good.clone();
        changed[at / 8] ^= 1 << (at % 8);
        let closed = ends.open(Side::Server, &mut changed, 1);
        assert_eq!(closed, Err(OpenError::Undecryptable), "bit {at}");
    }
    for length in 0..good.len() {
        let mut cut = good[..length].to_vec();
        assert_eq!(
            ends.open(Side::Server, &mut cut, 1),
            Err(OpenError::Undecryptable)
        );
    }
    ends.open(Side::Server, &mut good.clone(), 1).unwrap();
    // The number is part of what is authenticated.
    let far = ends.open(Side::Server, &mut good.clone(), 1 << 40);
    assert_eq!(far, Err(OpenError::Undecryptable));
}

#[test]
fn changed_handshakes_fail_without_a_panic() {
    for end in [Side::Client, Side::Server] {
        for at in (0..1500).step_by(7) {
            let mut ends = Configs::new().meet();
            let mut packets = ends.send(Side::Client, 60_000);
            if end == Side::Client {
                ends.deliver(&packets.remove(0)).unwrap();
                packets = ends.send(Side::Server, 60_000);
            }
            let receiver = ends.end(end);
            let mut total = 0;
            for packet in packets {
                let mut bytes = packet.bytes;
                let Ok(opened) = open(receiver, packet.level, &mut bytes, 1) else {
                    continue;
                };
                let data = &mut bytes[opened.payload];
                if (total..total + data.len()).contains(&at) {
                    data[at - total] ^= 0x55;
                }
                total += data.len();
                if receiver.receive(packet.level, packet.offset, data).is_err() {
                    assert!(receiver.failure().is_some() || total > 0);
                }
            }
            assert!(at >= total || end == Side::Server || !receiver.is_handshake_complete());
        }
    }
}

proptest! {
    #[test]
    fn any_handshake_bytes_are_survived(
        frames in prop::collection::vec(
            (0..4_usize, 0..100_u64, prop::collection::vec(any::<u8>(), 0..50)), 0..20),
    ) {
        let mut ends = Configs::new().meet();
        for (level, offset, data) in frames {
            let _ = ends.server.receive(LEVELS[level], offset, &data);
            let _ = ends.client.receive(LEVELS[level], offset, &data);
        }
        prop_assert!(!ends.server.is_handshake_complete());
    }
}

#[test]
fn a_first_packet_is_opened_without_a_connection() {
    let first = id(b"12345678");
    let version = roundtrip_wire::quic::Version::V1;
    let keys = InitialKeys::new(&first, version, Side::Server).unwrap();
    let mut ends = Configs::new().meet();
    let mut packet = seal(&mut ends.client, Level::Initial, 0, b"some frames").unwrap();
    let opened = keys.open(&mut packet, NUMBER_AT, 0).unwrap();
    assert_eq!(&packet[opened.payload], b"some frames");
    assert!(keys.open(&mut [0xc0; 50], NUMBER_AT, 0).is_err());
    assert!(InitialKeys::new(&first, roundtrip_wire::quic::Version(2), Side::Server).is_none());
}
