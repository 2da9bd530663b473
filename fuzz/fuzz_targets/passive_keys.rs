//! Fuzzes the readers of other people's TLS and QUIC, with the key logs of recorded connections:
//! the records of a side follow each other.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::key_log::KeyLog;
use roundtrip_wire::passive::{QuicPayload, QuicReader, TlsReader, TlsRecord};
use roundtrip_wire::quic::{Frames, Side};

static KEYS: LazyLock<KeyLog> = LazyLock::new(|| {
    let mut keys = KeyLog::default();
    for log in [
        &include_bytes!("../../crates/wire/tests/data/passive/tls12-aes128.keys")[..],
        include_bytes!("../../crates/wire/tests/data/passive/tls12-chacha20.keys"),
        include_bytes!("../../crates/wire/tests/data/passive/tls13-aes128-early.keys"),
        include_bytes!("../../crates/wire/tests/data/passive/tls13-chacha20-updates.keys"),
        include_bytes!("../../crates/wire/tests/data/passive/quic-aes128-early.keys"),
        include_bytes!("../../crates/wire/tests/data/passive/quic-chacha20-retry.keys"),
    ] {
        keys.push(log);
        keys.finish();
    }
    keys
});

fuzz_target!(|bytes: &[u8]| {
    let mut log = KeyLog::default();
    bytes.chunks(7).for_each(|piece| log.push(piece));
    log.finish();
    assert_eq!(log.connections(), KeyLog::parse(bytes).connections());

    let (mut tls, mut quic) = (TlsReader::new(), QuicReader::new());
    let mut ends = [0, 0];
    let mut rest = bytes;
    // A side and a length before each piece; a side of 2 or more means that bytes are missing.
    while let Some(([kind, length @ ..], behind)) = rest.split_first_chunk::<5>() {
        let length = u32::from_be_bytes(*length) as usize;
        let (piece, behind) = behind.split_at_checked(length).unwrap_or((behind, &[]));
        rest = behind;
        let side = if kind & 1 == 0 {
            Side::Client
        } else {
            Side::Server
        };
        let each = |record: TlsRecord<'_>| {
            let end = &mut ends[usize::from(record.side == Side::Server)];
            assert_eq!(record.at.start, *end);
            assert!(record.at.end >= record.at.start);
            *end = record.at.end;
        };
        if kind & 2 == 0 {
            tls.push(side, piece, &KEYS, each);
        } else {
            tls.skip(side, length as u64, &KEYS, each);
        }
        quic.push(side, piece, &KEYS, |packet| {
            if let QuicPayload::Opened { frames, .. } = packet.payload {
                assert!(Frames::new(frames).count() <= frames.len());
            }
        });
    }
});
