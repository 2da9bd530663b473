//! Fuzzes the files of origins: a parsed file can be written and parsed again. The checksum is
//! corrected, because otherwise nothing would be parsed.
#![no_main]

use aws_lc_rs::digest::{SHA256, digest};
use libfuzzer_sys::fuzz_target;
use roundtrip_fetch::memory::limits;
use roundtrip_fetch::memory::origin::OriginState;

fuzz_target!(|body: &[u8]| {
    let _ = OriginState::decode(body);
    let sum = digest(&SHA256, body);
    let file = |name: &[u8]| [name, &sum.as_ref()[..16], body].concat();
    if let Some(state) = OriginState::decode(&file(b"rtor\0\x01")) {
        assert_eq!(OriginState::decode(&state.encode()), Some(state));
    }
    if let Some(numbers) = limits::decode(&file(b"rtli\0\x01")) {
        assert_eq!(limits::encode(&numbers), file(b"rtli\0\x01"));
    }
});
