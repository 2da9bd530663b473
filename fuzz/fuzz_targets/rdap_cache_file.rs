//! Fuzzes the files of answers and registries: a parsed file can be judged, written, and parsed
//! again.
#![no_main]

use aws_lc_rs::digest::{SHA256, digest};
use libfuzzer_sys::fuzz_target;
use roundtrip_fetch::memory::Stamp;
use roundtrip_fetch::memory::answers::Stored;
use roundtrip_fetch::memory::documents::Document;

fuzz_target!(|body: &[u8]| {
    let _ = Stored::decode(body);
    let sum = digest(&SHA256, body);
    let file = |name: &[u8]| [name, &sum.as_ref()[..16], body].concat();
    if let Some(stored) = Stored::decode(&file(b"rtan\0\x01")) {
        assert!(stored.age(Stamp(u64::MAX)) >= stored.age(Stamp(0)));
        // Heads of more than 128 kB are read, and not written.
        if let Some(bytes) = stored.encode(b"key") {
            assert_eq!(Stored::decode(&bytes), Some(stored));
        }
    }
    let _ = Document::decode(&file(b"rtrg\0\x01"));
});
