//! Fuzzes the ServerHello, and what TLS 1.2 adds to it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::tls::{ServerHello, server_key_exchange_group};

fuzz_target!(|bytes: &[u8]| {
    let _ = ServerHello::parse(bytes);
    let _ = server_key_exchange_group(bytes);
});
