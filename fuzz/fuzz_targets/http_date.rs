//! Fuzzes HTTP-date: what is read is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::http_date;

const NOW: u64 = 1_790_000_000;

fuzz_target!(|bytes: &[u8]| {
    if let Some(second) = http_date::parse(bytes, NOW) {
        // A leap second at the end of the year 9999 has no other name.
        let shown = http_date::format(second);
        assert_eq!(
            http_date::parse(shown.as_bytes(), NOW),
            Some(second.min(253_402_300_799))
        );
    }
});
