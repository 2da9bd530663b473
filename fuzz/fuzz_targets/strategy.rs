//! Fuzzes strategies: what is printed reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_model::Strategy;

fuzz_target!(|text: &str| {
    if let Ok(strategy) = text.parse::<Strategy>() {
        assert_eq!(strategy.to_string().parse(), Ok(strategy));
        assert!(strategy.round_trips() >= 1);
    }
});
