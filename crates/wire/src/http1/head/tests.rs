//! Heads that are complete, truncated, ambiguous or invalid.

use proptest::prelude::*;

use super::*;

const MAX_FIELDS: usize = 100;

fn read(text: &[u8], strictness: Strictness) -> Result<Option<usize>, HeadError> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    request(text, &mut room, strictness).map(|read| read.map(|head| head.length))
}

fn status(text: &str, strictness: Strictness) -> Result<Option<u16>, HeadError> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let read = response(text.as_bytes(), &mut room, strictness);
    read.map(|read| read.map(|head| head.status))
}

#[test]
fn a_head_is_whole_or_not_there_yet() {
    let text = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
    let length = text.len() - 4;
    for strictness in [Strictness::Strict, Strictness::Tolerant] {
        assert_eq!(read(text, strictness), Ok(Some(length)));
        for end in 0..length {
            assert_eq!(read(&text[..end], strictness), Ok(None), "{end}");
        }
    }
}

#[test]
fn a_strict_reader_requires_complete_line_ends() {
    for text in [
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
    ] {
        let text = text.as_bytes();
        assert_eq!(read(text, Strictness::Strict), Err(HeadError::BareLineFeed));
        assert_eq!(read(text, Strictness::Tolerant), Ok(Some(text.len())));
    }
}

#[test]
fn all_refuse_bytes_that_are_not_a_head() {
    for (text, error) in [
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", HeadError::Malformed),
        (
            "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
            HeadError::Malformed,
        ),
        ("GET / HTTP/1.1\r\nA: b\0c\r\n\r\n", HeadError::Malformed),
        ("GET / HTTP/2.0\r\n\r\n", HeadError::Version),
        ("GET  / HTTP/1.1\r\n\r\n", HeadError::Malformed),
    ] {
        for strictness in [Strictness::Strict, Strictness::Tolerant] {
            assert_eq!(read(text.as_bytes(), strictness), Err(error), "{text:?}");
        }
    }
    let many = "a: b\r\n".repeat(MAX_FIELDS + 1);
    let many = format!("GET / HTTP/1.1\r\n{many}\r\n");
    let read = read(many.as_bytes(), Strictness::Strict);
    assert_eq!(read, Err(HeadError::TooManyFields));
}

#[test]
fn curl_reads_several_spaces_in_a_status_line() {
    let text = "HTTP/1.1  200  OK\r\n\r\n";
    assert_eq!(status(text, Strictness::AsCurl), Ok(Some(200)));
    for strictness in [Strictness::Strict, Strictness::Tolerant] {
        assert_eq!(status(text, strictness), Err(HeadError::Status));
    }
}

#[test]
fn the_end_of_a_head_is_seen_however_it_comes() {
    for text in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
    ] {
        let bytes = text.as_bytes();
        let seen: Vec<usize> = (1..=text.len())
            .filter(|n| end_of_head(&bytes[..*n], n.saturating_sub(3)).is_some())
            .collect();
        assert_eq!(seen, [text.len()], "{text:?}");
        let more = format!("{text}more\r\n\r\n");
        assert_eq!(end_of_head(more.as_bytes(), 3), Some(text.len()));
    }
    assert_eq!(end_of_head(b"\n\n", 3), None);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, tail: Vec<u8>) {
        let head = [b"HTTP/1.1 200 OK\r\n".as_slice(), &tail].concat();
        for strictness in [Strictness::Strict, Strictness::Tolerant, Strictness::AsCurl] {
            let mut room = [const { MaybeUninit::uninit() }; 8];
            let _ = request(&bytes, &mut room, strictness);
            let mut room = [const { MaybeUninit::uninit() }; 8];
            if let Ok(Some(read)) = response(&head, &mut room, strictness) {
                prop_assert!(read.length <= head.len());
            }
        }
        let mut room = [EMPTY_FIELD; 8];
        let _ = trailers(&tail, &mut room);
    }
}
