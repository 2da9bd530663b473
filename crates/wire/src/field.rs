//! The grammar that structured header fields share: tokens, quoted strings, lists. RFC 9110 §5.6.

use crate::text::printable;

/// A field value, read from front to back.
#[derive(Debug, Clone)]
pub(crate) struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(value: &'a [u8]) -> Self {
        Self { rest: value }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Skips `byte` and the white space around it, if it comes next.
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let trimmed = self.rest.trim_ascii_start();
        match trimmed.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest.trim_ascii_start();
                true
            }
            _ => false,
        }
    }

    pub(crate) fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Reads a token, or nothing. RFC 9110 §5.6.2.
    pub(crate) fn token(&mut self) -> Option<&'a str> {
        let length = self.rest.iter().take_while(|byte| is_token(**byte)).count();
        let (token, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        // Token characters are ASCII.
        std::str::from_utf8(token).ok().filter(|t| !t.is_empty())
    }

    /// Reads a quoted string and removes its quotes and escapes; `None` if it does not end. RFC
    /// 9110 §5.6.4.
    pub(crate) fn quoted(&mut self) -> Option<String> {
        let mut bytes = self.rest.strip_prefix(b"\"")?.iter();
        let mut text = Vec::new();
        loop {
            match bytes.next()? {
                b'"' => break,
                b'\\' => text.push(*bytes.next()?),
                byte => text.push(*byte),
            }
        }
        self.rest = bytes.as_slice();
        Some(printable(&text))
    }

    pub(crate) fn token_or_quoted(&mut self) -> Option<String> {
        match self.rest.first()? {
            b'"' => self.quoted(),
            _ => self.token().map(str::to_owned),
        }
    }

    /// Skips to the next of `stops` outside a quoted string, or to the end.
    pub(crate) fn skip_to(&mut self, stops: &[u8]) {
        while let Some((first, rest)) = self.rest.split_first() {
            if stops.contains(first) {
                return;
            }
            // A quoted string that does not end takes all the rest, so each byte is read at most
            // twice.
            if *first != b'"' {
                self.rest = rest;
            } else if self.quoted().is_none() {
                self.rest = &[];
            }
        }
    }
}

pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
