//! Fuzzes chunks from clients and backends: however they are cut they read the same, and written anew they are strict.
#![no_main]

#[path = "../../crates/gate/tests/it/smuggling/reader.rs"]
#[allow(dead_code)]
mod reader;

use libfuzzer_sys::fuzz_target;
use reader::{Kind, messages};
use roundtrip_gate::fuzzing::{chunk, unchunk};

fuzz_target!(|bytes: &[u8]| {
    let Some((size, bytes)) = bytes.split_first() else {
        return;
    };
    let size = usize::from(*size).max(1);
    let whole = unchunk(std::iter::once(bytes));
    let pieces = unchunk(bytes.chunks(size));
    // Data before what is malformed is given out or not, by how it is cut; the outcome is the same.
    assert_eq!(whole, pieces);
    let Some((data, used)) = whole else {
        return;
    };
    assert!(used.unwrap_or(0) <= bytes.len() && data.len() <= bytes.len());
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let wire = [head.as_slice(), &chunk(data.chunks(size))].concat();
    let (all, rest) = messages(&wire, Kind::Request).expect("strict");
    assert!(all.len() == 1 && all[0].body == data && rest.is_empty());
    // What a strict reader takes is taken.
    let wire = [head.as_slice(), bytes].concat();
    if let Ok(Some((message, length))) = reader::message(&wire, Kind::Request)
        // Sizes of more digits than any disk needs are not.
        && !bytes.windows(15).any(|w| w.iter().all(u8::is_ascii_hexdigit))
    {
        assert_eq!(
            Some((message.body, Some(length - head.len()))),
            unchunk(std::iter::once(bytes))
        );
    }
});
