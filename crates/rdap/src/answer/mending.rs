//! Makes JSON that is broken in small ways readable, without moving anything in it.

use std::borrow::Cow;
use std::ops::Range;

use super::number::Number;

/// The document as text. Bytes that are not UTF-8 (RFC 8259, section 8.1) become U+FFFD in strings,
/// and blanks between tokens, where they stand for nothing. In strings, an escape that is half of a
/// surrogate pair (section 8.2) becomes the escape of U+FFFD, and a control character that is not
/// escaped (section 7) becomes a blank. Offsets stay the same.
pub(crate) fn mended(bytes: &[u8]) -> Cow<'_, str> {
    let text = in_utf8(bytes);
    let lone = lone_surrogates(&text);
    let text = replaced(text, &lone, "\\ufffd");
    let bare = bare_controls(&text);
    replaced(text, &bare, " ")
}

/// Whether the characters of a JSON text that have passed ended within a string.
#[derive(Default)]
struct Quotes {
    quoted: bool,
    escaped: bool,
}

impl Quotes {
    fn pass(&mut self, character: char) {
        let is_quote = character == '"' && !self.escaped;
        self.escaped = self.quoted && character == '\\' && !self.escaped;
        self.quoted ^= is_quote;
    }
}

/// The places of the numbers in a text, in their order.
pub(super) struct Numbers<'a> {
    text: &'a str,
    at: usize,
    quotes: Quotes,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            quotes: Quotes::default(),
        }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }
}

impl Iterator for Numbers<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            let begin = self.at;
            if !self.quotes.quoted && (byte.is_ascii_digit() || *byte == b'-') {
                let rest = bytes.get(begin..).unwrap_or_default();
                self.at += rest.iter().take_while(|byte| is_part(byte)).count();
                return Some(begin..self.at);
            }
            self.quotes.pass(char::from(*byte));
            self.at += 1;
        }
        None
    }
}

/// The text with zeros in place of numbers that the parser would find too large. Offsets stay the
/// same.
pub(super) fn without_large_numbers(text: &str) -> Cow<'_, str> {
    const LARGE: f64 = 1e300;
    let mut smaller = Cow::Borrowed(text);
    for place in Numbers::new(text) {
        let number = text.get(place.clone()).unwrap_or_default();
        let is_large = number.parse().is_ok_and(|value: f64| value.abs() > LARGE);
        if is_large && Number::parse(number).is_some() {
            let zeros = "0".repeat(place.len().saturating_sub(2));
            smaller.to_mut().replace_range(place, &format!("0.{zeros}"));
        }
    }
    smaller
}

/// Replaces parts of the text, at these offsets, by other text of the same length.
fn replaced<'a>(text: Cow<'a, str>, offsets: &[usize], by: &str) -> Cow<'a, str> {
    if offsets.is_empty() {
        return text;
    }
    let mut replaced = String::with_capacity(text.len());
    let mut passed = 0;
    for at in offsets {
        replaced.push_str(text.get(passed..*at).unwrap_or_default());
        replaced.push_str(by);
        passed = at + by.len();
    }
    replaced.push_str(text.get(passed..).unwrap_or_default());
    Cow::Owned(replaced)
}

/// The offsets of control characters in strings that are not escaped.
pub(crate) fn bare_controls(text: &str) -> Vec<usize> {
    let mut quotes = Quotes::default();
    let mut bare = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        if quotes.quoted && byte < b' ' {
            bare.push(at);
        }
        quotes.pass(char::from(byte));
    }
    bare
}

/// The length of an escape such as `\u00fc`.
const ESCAPE: usize = 6;

/// The offsets of escapes that are half of a surrogate pair.
pub(crate) fn lone_surrogates(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut lone = Vec::new();
    // The first half of a pair, directly before the current offset.
    let mut first = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte != b'\\' {
            lone.extend(first.take());
            at += 1;
            continue;
        }
        match code_unit(bytes, at) {
            Some(0xd800..=0xdbff) => lone.extend(first.replace(at)),
            Some(0xdc00..=0xdfff) if first.take().is_none() => lone.push(at),
            Some(0xdc00..=0xdfff) => {}
            Some(_) => lone.extend(first.take()),
            None => {
                lone.extend(first.take());
                at += 2;
                continue;
            }
        }
        at += ESCAPE;
    }
    lone.extend(first);
    lone
}

/// The code unit that the escape at this offset stands for.
fn code_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    let hexadecimal = digits.bytes().all(|b| b.is_ascii_hexdigit());
    hexadecimal.then(|| u16::from_str_radix(digits, 16).ok())?
}

fn in_utf8(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, Cow::Borrowed(_)) {
        return text;
    }
    let mut quotes = Quotes::default();
    let mut mended = String::with_capacity(text.len());
    for character in text.chars() {
        if !quotes.quoted && character == char::REPLACEMENT_CHARACTER {
            // The replacement is as long as the character, so that later offsets stay the same.
            mended.push_str("   ");
            continue;
        }
        quotes.pass(character);
        mended.push(character);
    }
    Cow::Owned(mended)
}
