//! Makes text from peers safe to show: valid UTF-8 without control characters.

/// Replaces invalid UTF-8, and every control character, by U+FFFD.
pub(crate) fn printable(bytes: &[u8]) -> String {
    cleaned(String::from_utf8_lossy(bytes).chars())
}

pub(crate) fn cleaned(characters: impl Iterator<Item = char>) -> String {
    characters
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// Lower-case hexadecimal digits, without separators.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;

    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
