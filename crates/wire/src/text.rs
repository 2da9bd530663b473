//! Makes text from peers safe to show: valid UTF-8 without characters that act.

use roundtrip_model::acts;

/// Replaces invalid UTF-8, and every character that acts, by U+FFFD.
pub(crate) fn printable(bytes: &[u8]) -> String {
    cleaned(String::from_utf8_lossy(bytes).chars())
}

pub(crate) fn cleaned(characters: impl Iterator<Item = char>) -> String {
    characters
        .map(|c| if acts(c) { '\u{fffd}' } else { c })
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

/// The bytes that hexadecimal digits stand for, in capitals or small letters.
pub fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, []) = text.as_chunks::<2>() else {
        return None;
    };
    let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? << 4 | digit(*low)?) as u8);
    pairs.iter().map(byte).collect()
}

/// The bytes of hexadecimal digits with blanks between them, as in RFCs.
#[cfg(test)]
pub(crate) fn unhex_spaced(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    unhex(&digits).unwrap()
}
