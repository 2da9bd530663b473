//! Fuzzes `WWW-Authenticate` and `Authentication-Info`, and what is answered to them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_model::Target;
use roundtrip_rdap::credentials::{Credentials, Secret};

fuzz_target!(|lines: (&[u8], &[u8])| {
    let Ok(target) = Target::parse("https://rdap.example/") else {
        return;
    };
    let (user, password) = (Secret::new("user".into()), Secret::new("password".into()));
    let Ok(credentials) = Credentials::new(&target, user, password) else {
        return;
    };
    let credentials = credentials.with_random(|bytes| {
        bytes.fill(7);
        true
    });
    let _ = credentials.hear(&target, [lines.0], None);
    credentials.inform(&target, lines.1);
    if let Ok(Some(header)) = credentials.header(&target, "GET") {
        assert!(!header.expose().contains(['\r', '\n', '\0']));
    }
});
