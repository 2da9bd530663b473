//! Finds texts in binaries: one bounded pass over a file, for several markers at once.
//!
//! Shared libraries contain their version as text. What follows a marker is captured up to the
//! first byte that is not printable.

use std::io::{self, Read};

use memchr::memmem::Finder;

/// The largest number of bytes of a library that are searched.
pub(crate) const MAX_LIBRARY_BYTES: u64 = 64 << 20;
/// The largest number of bytes of a statically linked program that are searched.
pub(crate) const MAX_PROGRAM_BYTES: u64 = 256 << 20;

/// The largest number of bytes that are kept after a marker.
const MAX_CAPTURE_BYTES: usize = 64;
/// The largest number of captures that are kept for one marker.
const MAX_CAPTURES: usize = 64;
const CHUNK_BYTES: usize = 256 << 10;

/// What followed each marker: one list for each marker, in file order and without duplicates.
pub(crate) type Captures = Vec<Vec<String>>;

/// Reads at most `limit` bytes, and captures the text after each marker.
pub(crate) fn scan(file: impl Read, limit: u64, markers: &[&str]) -> io::Result<Captures> {
    let finders: Vec<Finder> = markers.iter().map(Finder::new).collect();
    let longest = markers.iter().map(|m| m.len()).max().unwrap_or(0);
    // A match is captured once all of it is in the buffer; this much is carried over.
    let overlap = longest + MAX_CAPTURE_BYTES;
    let mut captures = vec![Vec::new(); markers.len()];
    let mut file = file.take(limit);
    let mut buffer: Vec<u8> = Vec::with_capacity(CHUNK_BYTES + overlap);
    loop {
        let read = file
            .by_ref()
            .take(CHUNK_BYTES as u64)
            .read_to_end(&mut buffer)?;
        let last = read < CHUNK_BYTES;
        let settled = if last {
            buffer.len()
        } else {
            buffer.len().saturating_sub(overlap)
        };
        for (finder, found) in finders.iter().zip(&mut captures) {
            capture(finder, &buffer, settled, found);
        }
        if last {
            return Ok(captures);
        }
        buffer.drain(..settled);
    }
}

/// Captures the text after each match that begins before `settled`.
fn capture(finder: &Finder, buffer: &[u8], settled: usize, found: &mut Vec<String>) {
    for position in finder.find_iter(buffer) {
        if position >= settled || found.len() >= MAX_CAPTURES {
            return;
        }
        let start = position + finder.needle().len();
        let text: String = buffer
            .get(start..)
            .unwrap_or_default()
            .iter()
            .take(MAX_CAPTURE_BYTES)
            .take_while(|byte| matches!(byte, b' '..=b'~'))
            .map(|&byte| char::from(byte))
            .collect();
        if !found.contains(&text) {
            found.push(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_up_to_the_first_unprintable_byte() {
        let bytes = b"\x7fELF\0part of OpenSSL 1.0.2k  26 Jan 2017\0junk OpenSSL 3\xff";
        let captures = scan(&bytes[..], 1 << 20, &["OpenSSL ", "GnuTLS "]).unwrap();
        assert_eq!(captures, [vec!["1.0.2k  26 Jan 2017", "3"], vec![]]);
    }

    #[test]
    fn a_text_across_a_chunk_boundary_is_found_once_and_whole() {
        for shift in 0..140 {
            let mut bytes = vec![0; CHUNK_BYTES - shift];
            bytes.extend(b"OpenSSL 3.0.17 1 Jul 2025\0");
            bytes.resize(3 * CHUNK_BYTES, 0);
            let captures = scan(&bytes[..], u64::MAX, &["OpenSSL "]).unwrap();
            assert_eq!(captures, [["3.0.17 1 Jul 2025"]], "shift {shift}");
        }
    }

    #[test]
    fn stops_at_the_limit() {
        let mut bytes = vec![0; 1000];
        bytes.extend(b"OpenSSL 3.0.17");
        let captures = scan(&bytes[..], 1000, &["OpenSSL "]).unwrap();
        assert!(captures[0].is_empty());
    }

    #[test]
    fn a_file_full_of_markers_stays_bounded() {
        let bytes: Vec<u8> = (0..50_000)
            .flat_map(|n| format!("OpenSSL {n}\0").into_bytes())
            .collect();
        let captures = scan(&bytes[..], u64::MAX, &["OpenSSL "]).unwrap();
        assert_eq!(captures[0].len(), MAX_CAPTURES);
    }
}
