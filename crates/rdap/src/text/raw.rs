//! The answers' JSON: as received, or on one line. Values are never re-encoded.

use super::LookupResult;
use crate::answer::Answer;

/// The answers of all servers, one document after another.
pub(super) fn as_received(told: &LookupResult<'_>) -> Vec<u8> {
    let parts = [Some(&told.first), told.registrar.as_ref()];
    let answers = parts.into_iter().flatten().filter_map(|p| p.answer);
    let mut bytes = Vec::new();
    for answer in answers {
        bytes.extend_from_slice(answer.raw().trim_ascii());
        bytes.push(b'\n');
    }
    bytes
}

/// Appends the bytes of an answer without the white space between tokens, so without line breaks.
/// JSON strings contain no line breaks (RFC 8259, section 7), so nothing else changes.
pub(super) fn splice(answer: &Answer, out: &mut Vec<u8>) {
    let (mut quoted, mut escaped) = (false, false);
    let mut kept = answer.raw().iter().copied().filter(|byte| {
        if quoted {
            quoted = *byte != b'"' || escaped;
            escaped = *byte == b'\\' && !escaped;
            return true;
        }
        quoted = *byte == b'"';
        !byte.is_ascii_whitespace()
    });
    out.reserve(answer.raw().len());
    out.extend(&mut kept);
}
