//! Fuzzes one side of a TLS connection: records, handshake messages, alerts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::tls::{Alert, Handshakes, Records, clear_handshake};

fuzz_target!(|bytes: &[u8]| {
    for record in Records::new(bytes).flatten() {
        let _ = Alert::parse(record.body).map(|alert| alert.name());
    }
    let handshake = clear_handshake(bytes).unwrap_or_default();
    assert!(handshake.len() <= bytes.len());
    for message in Handshakes::new(&handshake) {
        let _ = message.kind.to_string();
    }
});
