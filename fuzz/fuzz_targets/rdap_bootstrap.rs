//! Fuzzes the bootstrap registries: an accepted registry answers queries, and a refused one changes
//! nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_rdap::bootstrap::{Bootstrap, Registry};
use roundtrip_rdap::query::Query;

const QUERIES: [&str; 6] = [
    "www.example.com",
    "192.0.2.1",
    "2001:db8::/32",
    "AS64500",
    "ABC-ARIN",
    "2.0.192.in-addr.arpa",
];

fuzz_target!(|json: &[u8]| {
    for registry in Registry::ALL {
        let mut bootstrap = Bootstrap::embedded();
        if let Err(error) = bootstrap.replace(registry, json) {
            let _ = error.to_string();
            continue;
        }
        assert!(bootstrap.faults(registry).len() < 100);
        for key in QUERIES
            .iter()
            .filter_map(|text| Query::parse(text, None).ok())
        {
            let Some(servers) = key.key().and_then(|key| bootstrap.servers(&key).ok()) else {
                continue;
            };
            assert!(!servers.bases().is_empty());
            let _ = servers.targets(&key.path()).count();
        }
    }
});
