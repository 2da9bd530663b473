//! Fuzzes queries as typed: the path of a parsed query parses as the same query.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roundtrip_rdap::query::{Kind, Query};

fuzz_target!(|input: (&str, u8)| {
    let (text, forced) = input;
    let forced = Kind::all().nth(usize::from(forced));
    let query = match Query::parse(text, forced) {
        Ok(query) => query,
        Err(error) => {
            assert!(!error.to_string().contains(['\n', '\0']));
            return;
        }
    };
    let path = query.path();
    assert!(path.bytes().all(|b| b.is_ascii_graphic()), "{path}");
    assert!(!query.shown().contains(['\n', '\0']));
    let _ = (query.key(), query.note());
    if query.url().is_none() && query.kind() != Kind::Help {
        assert_eq!(Query::parse(&path, None).as_ref(), Ok(&query), "{path}");
    }
});
