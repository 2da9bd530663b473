//! Fuzzes the `Server-Timing` field.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::server_timing;

fuzz_target!(|bytes: &[u8]| {
    for metric in server_timing::parse(bytes) {
        let _ = metric.duration();
    }
});
