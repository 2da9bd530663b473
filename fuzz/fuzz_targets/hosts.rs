//! Fuzzes /etc/hosts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::hosts::Hosts;

fuzz_target!(|input: (&str, &str)| {
    let (text, name) = input;
    let _ = Hosts::parse(text).lookup(name);
});
