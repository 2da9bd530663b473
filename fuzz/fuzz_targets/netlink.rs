//! Fuzzes answers over netlink: every iteration ends, and stays within the received bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::netlink;

fuzz_target!(|bytes: &[u8]| {
    let _ = netlink::acknowledged(bytes);
    for message in netlink::messages(bytes) {
        let _ = (message.is_done(), message.is_local_route());
        for (_, value) in netlink::attributes(message.payload) {
            assert!(value.len() + 4 <= message.payload.len());
            let _ = netlink::text(value);
        }
    }
    assert!(netlink::attributes(bytes).count() <= bytes.len() / 4);
});
