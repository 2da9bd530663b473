//! JSON handed on: as received, on one line, or so that a terminal can show it. Values are never encoded anew.

use std::fmt::Write as _;

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

/// JSON in which characters that act on a terminal are escaped, which to its readers is the same JSON: outside
/// strings there are none.
pub(super) fn tamed(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || c == '\t' || c == '\r' || !acts(c) {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

/// Whether `clean` would not show it as it is.
fn acts(c: char) -> bool {
    !c.is_ascii_graphic()
        && c != ' '
        && roundtrip_report::clean(c.encode_utf8(&mut [0; 4])).starts_with("\\u{")
}
