//! Text that is safe to show and numbers that align. Peers choose header values, certificate names and reasons:
//! nothing of theirs may move a cursor, change a colour or reverse a line.

use std::fmt::Write as _;
use std::time::Duration;

/// Text from outside with control and direction characters made visible.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_invisible(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Direction marks and overrides (Unicode UAX 9), zero-width characters, line and paragraph separators, tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Bytes that should be text: UTF-8 as it is, else each odd byte as `\xNN`.
pub(crate) fn lossy(bytes: &[u8]) -> String {
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

/// The first characters of `text`, with an ellipsis in place of the last when there are more than `most`.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    if most > 0 {
        short.push('…');
    }
    short
}

/// Enough decimals for a column whose largest number is `largest` milliseconds.
pub(crate) fn decimals(largest: f64) -> usize {
    match largest {
        l if l < 1.0 => 3,
        l if l < 20.0 => 2,
        _ => 1,
    }
}

/// The least value that does not print as zero with so many decimals.
pub(crate) fn least(places: usize) -> f64 {
    0.5 / 10f64.powf(places as f64)
}

/// Milliseconds that stand alone, with a precision that suits their size.
pub fn ms(value: f64) -> String {
    format!("{value:.*}", decimals(value.abs()))
}

pub(crate) fn span_ms(span: Duration) -> String {
    ms(span.as_secs_f64() * 1e3)
}

/// `1 round trip`, `2 round trips`.
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

pub(crate) fn trips(n: u32) -> String {
    count(n.into(), "round trip", "round trips")
}

/// A size as a person reads it.
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..10_000 => count(n, "byte", "bytes"),
        10_000..10_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        _ => format!("{:.1} MB", n as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_raw() {
        assert_eq!(clean("a\x1b[31mb"), "a\\u{1b}[31mb");
        assert_eq!(clean("x\u{202e}y\r\n"), "x\\u{202e}y\\u{d}\\u{a}");
        assert_eq!(clean("bücher · ok"), "bücher · ok");
    }

    #[test]
    fn odd_bytes_are_shown() {
        assert_eq!(lossy(b"caf\xe9 \xc3\xa9\xff"), "caf\\xe9 \u{e9}\\xff");
    }

    #[test]
    fn cuts_fit() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("abcd", 0), "");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [ms(0.1234), ms(4.127), ms(184.26)],
            ["0.123", "4.13", "184.3"]
        );
        assert_eq!(
            [bytes(1), bytes(9_999), bytes(20_480)],
            ["1 byte", "9999 bytes", "20.5 kB"]
        );
    }
}
