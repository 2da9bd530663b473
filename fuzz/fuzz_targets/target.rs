//! Fuzzes URLs as typed, and references resolved against them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_model::Target;

fuzz_target!(|input: (&str, &str)| {
    let (given, reference) = input;
    let Ok(target) = Target::parse(given) else {
        return;
    };
    let _ = (
        target.authority(),
        target.path_and_query(),
        target.host_name(),
    );
    let _ = (target.userinfo(), target.to_string());
    let _ = target.join(reference);
});
