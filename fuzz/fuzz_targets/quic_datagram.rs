//! Fuzzes QUIC datagrams: packets, protection removed, Retry tags.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::quic::{InitialKeys, Packet, Packets, Side, retry_is_authentic};

fuzz_target!(|bytes: &[u8]| {
    for packet in Packets::new(bytes).flatten() {
        match packet {
            Packet::Long(packet) => {
                let Ok(keys) = InitialKeys::derive(packet.version, &packet.destination) else {
                    panic!("a known version without keys");
                };
                let _ = keys.open(Side::Client, &packet, None);
                let _ = keys.open(Side::Server, &packet, Some(u64::MAX));
            }
            Packet::Retry(retry) => {
                let _ = retry_is_authentic(&retry, &retry.source);
            }
            _ => {}
        }
    }
});
