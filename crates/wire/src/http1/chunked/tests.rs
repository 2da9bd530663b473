//! Bodies in pieces of any length, and what each strictness refuses.

use proptest::prelude::*;

use super::*;

const LIMITS: ChunkedLimits = ChunkedLimits {
    size_digits: 15,
    line: 4 << 10,
    trailers: 64,
    section: 16 << 10,
};

/// The data, and how many bytes the body took, if it ended.
fn decode(parts: &[&[u8]], strictness: Strictness) -> Result<(Vec<u8>, Option<usize>), ChunkError> {
    let (mut chunked, mut out, mut used) = (Chunked::new(strictness, LIMITS), Vec::new(), 0);
    for part in parts {
        used += chunked.feed(part, |data| {
            out.extend_from_slice(data);
            Ok::<(), ChunkError>(())
        })?;
        if chunked.is_done() {
            return Ok((out, Some(used)));
        }
        assert!(chunked.take_section().is_empty());
    }
    Ok((out, None))
}

fn strictly(text: &str) -> Result<(Vec<u8>, Option<usize>), ChunkError> {
    decode(&[text.as_bytes()], Strictness::Strict)
}

fn tolerantly(text: &str) -> Result<(Vec<u8>, Option<usize>), ChunkError> {
    decode(&[text.as_bytes()], Strictness::Tolerant)
}

const WIRE: &[u8] = b"4;ext=1\r\nWiki\r\n5\r\npedia\r\n0\r\nTrailer: x\r\n\r\n";

#[test]
fn chunks_come_together_however_they_are_cut() {
    let whole = (b"Wikipedia".to_vec(), Some(WIRE.len()));
    for strictness in [Strictness::Strict, Strictness::Tolerant] {
        assert_eq!(decode(&[WIRE, b"next"], strictness), Ok(whole.clone()));
        for size in 1..WIRE.len() {
            let parts: Vec<&[u8]> = WIRE.chunks(size).collect();
            assert_eq!(decode(&parts, strictness), Ok(whole.clone()), "{size}");
        }
        assert_eq!(
            decode(&[&WIRE[..12]], strictness),
            Ok((b"Wik".into(), None))
        );
    }
}

#[test]
fn the_strict_reader_refuses_ambiguous_chunks() {
    for bad in [
        "\r\n",
        "g\r\n",
        "-1\r\n",
        "+1\r\n",
        "0x1\r\n",
        " 1\r\na\r\n",
        "1\na\r\n",
        "1;x\na\r\n",
        "1\r\nab\r\n",
        "1\r\na\n",
        "1\r\na\r\r\n",
        "0\r\nA: b\n\r\n",
        "0\r\n\n",
        "1000000000000000\r\n",
        "1 1\r\na\r\n",
        "1 \tx\r\na\r\n",
        "1;a\0b\r\na\r\n",
        "0\r\nA: b\x01\r\n\r\n",
        "0\r\n A: b\r\n\r\n",
    ] {
        assert!(strictly(bad).is_err(), "{bad:?}");
    }
    let long = format!("1;{}", "x".repeat(LIMITS.line + 1));
    assert_eq!(strictly(&long), Err(ChunkError::LongLine));
    // None of these ends the section.
    for line in ["a: b\r\n", "a\r\n", "a"] {
        let trailers = format!("0\r\n{}", line.repeat(LIMITS.section + 1));
        assert_eq!(strictly(&trailers), Err(ChunkError::Trailers));
    }
}

#[test]
fn a_tolerant_reader_accepts_any_line_end() {
    for good in [
        "1\na\n0\n\n",
        " 1 \r\na\r\n0\r\n\r\n",
        "1;x\ny\n",
        "01\r\na\r\n0\r\nA: b\n C\x01: d\r\n\r\n",
        "1\r\r\na\r\n0\r\n\rx\r\n\r\n",
    ] {
        let (data, end) = tolerantly(good).unwrap_or_else(|e| panic!("{good:?}: {e}"));
        assert_eq!(data.len(), 1, "{good:?}");
        assert!(end.is_none_or(|end| end == good.len()), "{good:?}");
    }
    for (bad, error) in [
        ("\r\n", ChunkError::Size),
        ("g\r\n", ChunkError::Size),
        ("x\r\n", ChunkError::Size),
        ("-1\r\n", ChunkError::Size),
        ("1 1\r\n", ChunkError::Size),
        ("fffffffffffffffff\r\n", ChunkError::Size),
        ("1\r\nab\r\n", ChunkError::End),
        ("1\r\na\r\r\n", ChunkError::End),
        ("5\r\nhelloX\r\n", ChunkError::End),
    ] {
        assert_eq!(tolerantly(bad), Err(error), "{bad:?}");
    }
    for start in ["1;", " ", "0\r\n"] {
        let long = format!("{start}{}", " ".repeat(LIMITS.line + 1));
        assert_eq!(tolerantly(&long), Err(ChunkError::LongLine), "{start}");
    }
    let trailers = |count| format!("0\r\n{}\r\n", "a: b\r\n".repeat(count));
    assert!(tolerantly(&trailers(64)).is_ok());
    assert_eq!(tolerantly(&trailers(65)), Err(ChunkError::Trailers));
}

#[test]
fn no_more_digits_than_fit() {
    let limits = ChunkedLimits {
        size_digits: u8::MAX,
        ..LIMITS
    };
    for strictness in [Strictness::Strict, Strictness::Tolerant] {
        let mut chunked = Chunked::new(strictness, limits);
        assert_eq!(chunked.next(b"ffffffffffffffff\r\nab"), Ok(18..20));
        let mut chunked = Chunked::new(strictness, limits);
        assert_eq!(chunked.next(&[b'1'; 17]), Err(ChunkError::Size));
    }
}

#[test]
fn trailers_are_there_once_the_body_is_over() {
    let mut chunked = Chunked::new(Strictness::Strict, LIMITS);
    let used = chunked.feed(WIRE, |_| Ok::<(), ChunkError>(()));
    assert_eq!(used, Ok(WIRE.len()));
    assert_eq!(chunked.take_section(), b"Trailer: x\r\n\r\n");
    assert!(chunked.take_section().is_empty());
}

#[test]
fn no_data_is_not_the_last_chunk() {
    let mut out = Vec::new();
    write_chunk(&mut out, b"");
    write_chunk(&mut out, b"a");
    assert_eq!(out, b"1\r\na\r\n");
}

proptest! {
    #[test]
    fn any_division_of_the_bytes_reads_the_same(
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..50), 0..8),
        step in 1_usize..40,
    ) {
        let mut coded = Vec::new();
        for part in &parts {
            write_chunk(&mut coded, part);
        }
        coded.extend_from_slice(b"0\r\n\r\n");
        let pieces: Vec<&[u8]> = coded.chunks(step).collect();
        for strictness in [Strictness::Strict, Strictness::Tolerant] {
            let whole = (parts.concat(), Some(coded.len()));
            prop_assert_eq!(decode(&pieces, strictness), Ok(whole));
        }
    }

    #[test]
    fn the_tolerant_reader_reads_strict_bodies_alike(bytes in "[0-3a ;\r\n]{0,60}", step in 1_usize..9) {
        let pieces: Vec<&[u8]> = bytes.as_bytes().chunks(step).collect();
        let strict = decode(&pieces, Strictness::Strict);
        prop_assert_eq!(&strict, &decode(&[bytes.as_bytes()], Strictness::Strict));
        let tolerant = decode(&pieces, Strictness::Tolerant);
        prop_assert_eq!(&tolerant, &decode(&[bytes.as_bytes()], Strictness::Tolerant));
        if strict.is_ok() {
            prop_assert_eq!(strict, tolerant);
        }
    }

    #[test]
    fn no_bytes_panic(parts: Vec<Vec<u8>>) {
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        for strictness in [Strictness::Strict, Strictness::Tolerant] {
            let _ = decode(&parts, strictness);
        }
    }
}
