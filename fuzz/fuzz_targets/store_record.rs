//! Fuzzes a store's records of sessions: a parsed record that is written and parsed again stays the
//! same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_store::Record;

fuzz_target!(|bytes: &[u8]| {
    let Ok(record) = Record::from_json(bytes, None) else {
        return;
    };
    let _ = record.plain();
    let written = record.to_json().expect("text");
    let again = Record::from_json(&written, None).expect("what was written");
    // One line break after the credentials is removed.
    assert_eq!(again.others, record.others);
    assert!(record.credentials.starts_with(&again.credentials));
});
