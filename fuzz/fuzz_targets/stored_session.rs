//! Fuzzes stored TLS sessions: as they are, and as in a hostile file with a valid checksum and the
//! client's trust; those are revived.
#![no_main]

use std::sync::LazyLock;
use std::time::SystemTime;

use libfuzzer_sys::fuzz_target;
use roundtrip_tls::{Client, Roots, StoredSession};
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;

static CLIENT: LazyLock<Client> =
    LazyLock::new(|| Client::new(Roots::Anything, None).expect("nothing is read"));

fuzz_target!(|bytes: &[u8]| {
    let _ = StoredSession::decode(bytes);
    let suite = TLS13_AES_128_GCM_SHA256.tls13().expect("it is of TLS 1.3");
    let sha256 = suite.common.hash_provider;
    let mut whole = b"rtKS\x01".to_vec();
    // Carrier, suite, group and time; then the client's trust; then the rest.
    let (head, tail) = bytes.split_at(bytes.len().min(13));
    whole.extend_from_slice(head);
    whole.extend_from_slice(sha256.hash(b"anything").as_ref());
    whole.extend_from_slice(tail);
    let checksum = sha256.hash(&whole);
    whole.extend_from_slice(checksum.as_ref());
    if let Ok(kept) = StoredSession::decode(&whole) {
        assert_eq!(kept.encode(), whole);
        let _ = CLIENT.revive(kept.is_quic(), kept.name(), &kept, SystemTime::now());
        let _ = CLIENT.revive(kept.is_quic(), kept.name(), &kept, kept.received());
    }
});
