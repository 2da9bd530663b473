//! JSON handed on: as received, on or on one line. Values are never encoded anew.

use super::Told;
use crate::answer::Answer;

/// What each server sent, one document after the other.
pub(super) fn as_received(told: &Told<'_>) -> String {
    let parts = [Some(&told.first), told.registrar.as_ref()];
    let answers = parts.into_iter().flatten().filter_map(|p| p.answer);
    let mut text = String::new();
    for answer in answers {
        // What was read as JSON is UTF-8.
        text.push_str(String::from_utf8_lossy(answer.raw()).trim());
        text.push('\n');
    }
    text
}

/// The bytes of an answer without the blanks between its tokens, line breaks above all. Inside strings JSON has no
/// line break (RFC 8259, section 7), so that nothing else changes.
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
