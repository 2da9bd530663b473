//! Fuzzes domain names: what is shown reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::dns::Name;

fuzz_target!(|text: &str| {
    if let Ok(name) = text.parse::<Name>() {
        assert_eq!(name.to_string().parse(), Ok(name));
    }
});
