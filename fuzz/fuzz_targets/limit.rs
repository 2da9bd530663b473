//! Fuzzes limits, held against an empty exchange.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_model::{Exchange, Limit};

fuzz_target!(|text: &str| {
    if let Ok(limit) = text.parse::<Limit>() {
        let _ = limit.broken_by(&Exchange::default());
        let _ = limit.to_string();
    }
});
