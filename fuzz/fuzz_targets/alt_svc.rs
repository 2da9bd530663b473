//! Fuzzes the `Alt-Svc` field.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::alt_svc;

fuzz_target!(|bytes: &[u8]| {
    let _ = alt_svc::parse(bytes);
});
