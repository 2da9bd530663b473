//! Fuzzes heads and chunks of HTTP/1: the result does not depend on how they are cut, the tolerant
//! parser agrees with the strict one where that succeeds, and rewritten chunks satisfy the strict
//! one.
#![no_main]

#[path = "../../crates/gate/tests/it/smuggling/reader.rs"]
#[allow(dead_code)]
mod reader;

use std::mem::MaybeUninit;

use libfuzzer_sys::fuzz_target;
use reader::{Kind, messages};
use roundtrip_wire::http1::{
    self, ChunkError, Chunked, ChunkedLimits, EMPTY_FIELD, Strictness, write_chunk,
};

/// As gate has them.
const LIMITS: ChunkedLimits = ChunkedLimits {
    size_digits: 15,
    line: 4 << 10,
    trailers: u32::MAX,
    section: 16 << 10,
};

/// The data, the bytes that they took, if they ended, and the trailers.
fn read<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    strictness: Strictness,
) -> Result<(Vec<u8>, Option<usize>, Vec<u8>), ChunkError> {
    let (mut chunked, mut data, mut used) = (Chunked::new(strictness, LIMITS), Vec::new(), 0);
    for piece in pieces {
        used += chunked.feed(piece, |part| {
            data.extend_from_slice(part);
            Ok::<(), ChunkError>(())
        })?;
        if chunked.is_done() {
            return Ok((data, Some(used), chunked.take_section()));
        }
    }
    Ok((data, None, Vec::new()))
}

fn heads(bytes: &[u8]) {
    for strictness in [Strictness::Strict, Strictness::Tolerant, Strictness::AsCurl] {
        let mut room = [const { MaybeUninit::uninit() }; 100];
        if let Ok(Some(head)) = http1::request(bytes, &mut room, strictness) {
            let end = http1::end_of_head(bytes, 0);
            assert!(head.length <= bytes.len() && end.is_some());
        }
        let mut room = [const { MaybeUninit::uninit() }; 100];
        if let Ok(Some(head)) = http1::response(bytes, &mut room, strictness) {
            assert!(head.length <= bytes.len() && head.status < 1000);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((size, bytes)) = bytes.split_first() else {
        return;
    };
    heads(bytes);
    let size = usize::from(*size).max(1);
    let strict = read(std::iter::once(bytes), Strictness::Strict);
    let tolerant = read(std::iter::once(bytes), Strictness::Tolerant);
    assert_eq!(strict, read(bytes.chunks(size), Strictness::Strict));
    assert_eq!(tolerant, read(bytes.chunks(size), Strictness::Tolerant));
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let wire = [head.as_slice(), bytes].concat();
    if let Ok(Some((message, length))) = reader::message(&wire, Kind::Request)
        // Sizes of more digits than any disk needs are not taken.
        && !bytes.windows(15).any(|w| w.iter().all(u8::is_ascii_hexdigit))
    {
        let (data, used, section) = strict.clone().expect("what a strict reader takes is taken");
        assert_eq!((message.body, Some(length - head.len())), (data, used));
        let mut room = [EMPTY_FIELD; 2048];
        let trailers = http1::trailers(&section, &mut room);
        assert!(section.is_empty() || matches!(trailers, Ok(Some(_))));
    }
    let Ok((data, used, _)) = strict else {
        return;
    };
    assert!(used.unwrap_or(0) <= bytes.len() && data.len() <= bytes.len());
    match tolerant {
        Ok((same, end, _)) => assert_eq!((&same, end), (&data, used)),
        // Lines of trailers have a separate limit there.
        Err(error) => assert_eq!(error, ChunkError::LongLine),
    }
    let mut wire = head.to_vec();
    for piece in data.chunks(size) {
        write_chunk(&mut wire, piece);
    }
    wire.extend_from_slice(b"0\r\n\r\n");
    let (all, rest) = messages(&wire, Kind::Request).expect("strict");
    assert!(all.len() == 1 && all[0].body == data && rest.is_empty());
});
