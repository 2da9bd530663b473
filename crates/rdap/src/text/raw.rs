//! JSON handed on: as received, on or on one line. Values are never encoded anew.

use super::LookupResult;
use crate::answer::Answer;

/// What each server sent, one document after another.
pub(super) fn as_received(told: &LookupResult<'_>) -> String {
    let parts = [Some(&told.first), told.registrar.as_ref()];
    let answers = parts.into_iter().flatten().filter_map(|p| p.answer);
    let mut text = String::new();
    for answer in answers {
        // It was parsed as JSON, so it is UTF-8.
        text.push_str(String::from_utf8_lossy(answer.raw()).trim());
        text.push('\n');
    }
    text
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
