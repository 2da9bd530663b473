//! Fuzzes the frames of Initial packets, and CRYPTO data put together.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::quic::{CryptoStream, Frames};

fuzz_target!(|payloads: Vec<&[u8]>| {
    let mut stream = CryptoStream::default();
    for payload in payloads {
        let _ = Frames::new(payload).count();
        let before = stream.contiguous().to_vec();
        let _ = stream.push_payload(payload);
        assert!(stream.contiguous().starts_with(&before));
    }
});
