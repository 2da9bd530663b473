//! Fuzzes the ClientHello.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::tls::ClientHello;

fuzz_target!(|bytes: &[u8]| {
    let _ = ClientHello::parse(bytes);
});
