//! Fuzzes certificates.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_wire::x509::Certificate;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(certificate) = Certificate::parse(bytes) {
        let _ = (certificate.subject.to_string(), certificate.issuer.full());
        let _ = certificate.is_self_issued();
    }
});
