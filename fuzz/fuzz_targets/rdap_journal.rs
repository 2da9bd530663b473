//! Fuzzes the records of journals: it never counts more queries as finished than the output has,
//! and truncating the output never finishes more.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_rdap::bulk::journal::{Identity, survey};

fuzz_target!(|bytes: &[u8]| {
    let Ok(identity) = Identity::from_list(&mut [0_u8; 4096].as_slice(), "") else {
        return;
    };
    if let Some((finished, end)) = survey(bytes, &identity, 1 << 20) {
        assert!(finished <= bytes.len() as u64 / 24 && finished <= 4097 && end <= 1 << 20);
        if let Some((less, _)) = survey(bytes, &identity, end / 2) {
            assert!(less <= finished);
        }
    }
});
