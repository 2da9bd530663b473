//! JSON passed on as received, on one line, or made safe for a terminal. Values are never encoded
//! again.

use std::fmt::Write as _;

use super::Told;
use crate::answer::Answer;

/// What each server sent, one document after another.
pub(super) fn as_received(told: &Told<'_>) -> String {
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

/// Escapes the characters that affect a terminal. They occur only inside strings, so readers get
/// the same JSON.
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

/// Whether `clean` would change the character.
fn acts(c: char) -> bool {
    !c.is_ascii_graphic()
        && c != ' '
        && roundtrip_report::clean(c.encode_utf8(&mut [0; 4])).starts_with("\\u{")
}
