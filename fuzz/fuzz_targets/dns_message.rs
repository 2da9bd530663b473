//! Fuzzes DNS messages: a parsed message that is written and parsed again stays the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::dns::Message;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = Message::parse(bytes) else {
        return;
    };
    for question in &message.questions {
        let _ = message.addresses_for(&question.name);
        let _ = message.https_for(&question.name);
    }
    let _ = message.negative_ttl();
    let _ = message.encode_within(512);
    // A message whose compression repeats itself may grow too large to be written.
    if let Ok(again) = message.encode() {
        assert_eq!(Message::parse(&again), Ok(message));
    }
});
