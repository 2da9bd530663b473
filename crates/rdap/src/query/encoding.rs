//! Percent-encoding (RFC 3986 §2.1) of parts of a path or query, and decoding.

use roundtrip_wire::percent;

use super::QueryError;
use super::error::{check_seen, quoted};

/// Encodes everything except unreserved characters, `:` and `*`, which both paths and queries can
/// contain and which are readable in addresses and patterns. Slashes, and dots that would be path
/// segments, are always encoded or refused: see [`super::QueryError::Dots`].
pub(super) fn encode(text: &str) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
    ];
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or('0');
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:*".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    encoded
}

/// Decodes percent-encoded text; a `+` stays a `+`. Refuses text with invisible characters.
pub(super) fn decode(text: &str) -> Result<String, QueryError> {
    let wrong = || QueryError::Encoding {
        given: quoted(text),
    };
    let bytes: Result<Vec<u8>, _> = percent::decode_strict(text).collect();
    let bytes = bytes.map_err(|_| wrong())?;
    let decoded = String::from_utf8(bytes).map_err(|_| wrong())?;
    check_seen(&decoded)?;
    Ok(decoded)
}
