//! Fuzzes sealed credentials: what is read is written the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::envelope::Envelope;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(envelope) = Envelope::parse(bytes) {
        assert_eq!(envelope.encode().as_bytes(), bytes);
    }
});
