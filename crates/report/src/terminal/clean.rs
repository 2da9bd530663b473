//! Sanitises text from outside. Peers choose header values, certificate names and reasons, others
//! choose names and write files: their text must not move a cursor, change a colour, or hide or
//! reverse the output.
//!
//! All code that shows such text, on a terminal or on a page, passes it through one of these
//! functions.

use std::fmt::Write as _;

pub use roundtrip_model::acts;

/// Writes text from outside on one line, and each character for which [`acts`] is true as `\u{…}`.
pub fn clean(text: &str) -> String {
    escaped(text, acts)
}

/// Like [`clean`], but line breaks stay: for text of several lines.
pub fn clean_lines(text: &str) -> String {
    escaped(text, |c| c != '\n' && acts(c))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Escapes the same characters in JSON. The value stays the same, because outside of strings only
/// blanks and line breaks can be such characters.
pub fn clean_json(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, '\n' | '\t' | '\r') || !acts(c) {
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

/// Writes bytes that should be text: UTF-8 unchanged, and each invalid byte as `\xNN`.
pub fn lossy(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_raw() {
        assert_eq!(clean("a\x1b[31mb"), "a\\u{1b}[31mb");
        assert_eq!(clean("x\u{202e}y\r\n"), "x\\u{202e}y\\u{d}\\u{a}");
        assert_eq!(clean("bücher · ok"), "bücher · ok");
        assert_eq!(clean_lines("a\u{9b}\nb\r"), "a\\u{9b}\nb\\u{d}");
    }

    #[test]
    fn escaped_json_keeps_its_value() {
        let value = serde_json::json!({ "a\u{202e}": "\u{9b}\u{e0041}\u{1b}\n", "b": "ü" });
        for text in [value.to_string(), format!("{value:#}")] {
            let shown = clean_json(&text);
            assert!(!shown.chars().any(|c| c != '\n' && acts(c)), "{shown:?}");
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
                value
            );
        }
    }

    #[test]
    fn odd_bytes_are_shown() {
        assert_eq!(lossy(b"caf\xe9 \xc3\xa9\xff"), "caf\\xe9 \u{e9}\\xff");
    }
}
