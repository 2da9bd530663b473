//! Fuzzes the PROXY header: it ends where it says, and is incomplete before that.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::proxy_header::{MAX_LENGTH, ProxyHeader};

fuzz_target!(|bytes: &[u8]| {
    match ProxyHeader::parse(bytes) {
        Ok(Some((header, end))) => {
            let whole = &bytes[..end];
            assert_eq!(ProxyHeader::parse(whole), Ok(Some((header, end))));
            assert_eq!(ProxyHeader::parse(&whole[..end - 1]), Ok(None));
        }
        Ok(None) => assert!(bytes.len() < MAX_LENGTH),
        Err(_) => {}
    }
});
