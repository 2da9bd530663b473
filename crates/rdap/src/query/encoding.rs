//! Percent-encoding (RFC 3986 §2.1) of parts of a path or query, and decoding.

use roundtrip_wire::percent;

use super::QueryError;
use super::error::{check_seen, quoted};

/// Encodes everything except unreserved characters, `:` and `*`, which both paths and queries can
/// contain and which are readable in addresses and patterns. Slashes, and dots that would be path
/// segments, are always encoded or refused: see [`super::QueryError::Dots`].
pub(super) fn encode(text: &str) -> String {
    percent::encode(text.as_bytes(), |byte| {
        byte.is_ascii_alphanumeric() || b"-._~:*".contains(&byte)
    })
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
