//! A domain name: labels of bytes, compared without case.

use std::fmt;
use std::str::FromStr;

use crate::cursor::Cursor;
use crate::text::printable;
use crate::{Error, Result};

/// The longest name in bytes, with the terminating zero. RFC 1035 §2.3.4.
const MAX_NAME_LENGTH: usize = 255;
const MAX_LABEL_LENGTH: usize = 63;
/// A name has at most this many labels, and a writer uses at most one pointer after each.
const MAX_JUMPS: usize = 127;

/// Stored in lower case, so that `==` compares as RFC 4343 §3 requires.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// The labels, each after its length, without the zero byte of the root.
    wire: Vec<u8>,
}

impl Name {
    pub const fn root() -> Self {
        Self { wire: Vec::new() }
    }

    pub fn is_root(&self) -> bool {
        self.wire.is_empty()
    }

    pub fn labels(&self) -> impl Iterator<Item = &[u8]> {
        self.suffixes().map(|(label, _)| label)
    }

    /// Each label, with the wire form of the name that starts at it.
    pub(super) fn suffixes(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = self.wire.as_slice();
        std::iter::from_fn(move || {
            let suffix = rest;
            let (length, behind) = rest.split_first()?;
            let (label, next) = behind.split_at_checked(usize::from(*length))?;
            rest = next;
            Some((label, suffix))
        })
    }

    fn push(&mut self, label: &[u8]) -> std::result::Result<(), &'static str> {
        if label.is_empty() {
            return Err("it has an empty label");
        }
        if label.len() > MAX_LABEL_LENGTH {
            return Err("it has a label of more than 63 bytes");
        }
        if self.wire.len() + 1 + label.len() + 1 > MAX_NAME_LENGTH {
            return Err("it is longer than 255 bytes");
        }
        self.wire.push(label.len() as u8);
        self.wire.extend(label.iter().map(u8::to_ascii_lowercase));
        Ok(())
    }

    /// Parses a name in a message.
    pub(super) fn read<'a>(cursor: &mut Cursor<'a>, message: &'a [u8]) -> Result<Self> {
        let mut name = Self::root();
        Self::read_labels(cursor, message, |label| name.push(label))?;
        Ok(name)
    }

    /// Parses the labels of a name, following compression pointers. RFC 1035 §4.1.4.
    pub(super) fn read_labels<'a>(
        cursor: &mut Cursor<'a>,
        message: &'a [u8],
        mut seen: impl FnMut(&'a [u8]) -> std::result::Result<(), &'static str>,
    ) -> Result<()> {
        // A pointer must point before the labels that it continues, so the loop ends.
        let mut floor = cursor.position();
        let mut jumped: Option<Cursor<'a>> = None;
        let mut jumps = 0;
        loop {
            let reader = jumped.as_mut().unwrap_or(&mut *cursor);
            let length = reader.u8()?;
            match length >> 6 {
                0 if length == 0 => return Ok(()),
                0 => {
                    let label = reader.take(usize::from(length))?;
                    seen(label).map_err(|why| reader.malformed(why))?;
                }
                0b11 => {
                    let target = usize::from(length & 0x3f) << 8 | usize::from(reader.u8()?);
                    jumps += 1;
                    if target >= floor || jumps > MAX_JUMPS {
                        return Err(reader.malformed("a pointer does not point backwards"));
                    }
                    floor = target;
                    jumped = Some(Cursor::starting_at("DNS name", message, target)?);
                }
                _ => return Err(reader.malformed("a label has an unknown type")),
            }
        }
    }
}

impl FromStr for Name {
    type Err = Error;

    /// Parses the presentation format, with or without the final dot. RFC 1035 §5.1.
    fn from_str(text: &str) -> Result<Self> {
        let refuse = |why| Error::Name {
            name: printable(text.as_bytes()).chars().take(80).collect(),
            why,
        };
        if text == "." {
            return Ok(Self::root());
        }
        let mut name = Self::root();
        let mut label = Vec::new();
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'.' => {
                    name.push(&label).map_err(refuse)?;
                    label.clear();
                }
                b'\\' => label.push(unescape(&mut bytes).ok_or_else(|| refuse("a bad escape"))?),
                b'!'..=b'~' => label.push(byte),
                _ => return Err(refuse("only printable ASCII is allowed")),
            }
        }
        if !label.is_empty() || name.is_root() {
            name.push(&label).map_err(refuse)?;
        }
        Ok(name)
    }
}

/// The character after a backslash: given by three decimal digits, or itself.
fn unescape(bytes: &mut std::str::Bytes<'_>) -> Option<u8> {
    let first = bytes.next()?;
    if !first.is_ascii_digit() {
        return (b'!'..=b'~').contains(&first).then_some(first);
    }
    let digit = |byte: u8| char::from(byte).to_digit(10);
    let value = digit(first)? * 100 + digit(bytes.next()?)? * 10 + digit(bytes.next()?)?;
    u8::try_from(value).ok()
}

impl fmt::Display for Name {
    /// Writes the name without the final dot, except for the root.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        for (at, label) in self.labels().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            for byte in label {
                match byte {
                    b'.' | b'\\' => write!(f, "\\{}", char::from(*byte))?,
                    b'!'..=b'~' => write!(f, "{}", char::from(*byte))?,
                    _ => write!(f, "\\{byte:03}")?,
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    fn read(message: &[u8], at: usize) -> Result<Name> {
        Name::read(
            &mut Cursor::starting_at("name", message, at).unwrap(),
            message,
        )
    }

    #[test]
    fn case_and_final_dot_do_not_matter() {
        assert_eq!(name("Example.COM."), name("example.com"));
        assert_eq!(name("Example.COM.").to_string(), "example.com");
        assert_eq!(name(".").to_string(), ".");
        assert_eq!(name("a\\.b.c").labels().count(), 2);
        assert_eq!(name("a\\.b\\007.c").to_string(), "a\\.b\\007.c");
    }

    #[test]
    fn bad_names_are_refused() {
        let long_label = "a".repeat(64);
        let long_name = vec!["a".repeat(49); 6].join(".");
        for text in [
            "",
            "..",
            ".a",
            "a..b",
            "a b",
            "bücher",
            "a\\",
            "a\\25",
            "a\\256",
            &long_label,
            &long_name,
        ] {
            assert!(text.parse::<Name>().is_err(), "{text:?} was accepted");
        }
        assert!("a".repeat(63).parse::<Name>().is_ok());
    }

    #[test]
    fn pointers_lead_backwards_only() {
        let message = b"\x03www\xc0\x06\x07example\x00\xc0\x00\xc0\x00";
        assert!(read(message, 0).is_err(), "forwards");
        let message = b"\x07example\x00\x03www\xc0\x00\xc0\x09";
        assert_eq!(read(message, 9), Ok(name("www.example")));
        assert_eq!(read(message, 15), Ok(name("www.example")));
        assert!(read(b"\xc0\x00", 0).is_err(), "to itself");
        assert!(read(b"\x01a\xc0\x00", 0).is_err(), "to its own start");
        assert!(read(b"\x41a\x00", 0).is_err(), "an extended label type");
        assert!(read(b"\x03ab", 0).is_err(), "cut short");
    }

    #[test]
    fn chains_of_pointers_are_bounded() {
        let mut message = vec![0, 0xc0, 0];
        for target in (1_u16..300).step_by(2) {
            message.extend((0xc000 | target).to_be_bytes());
        }
        assert_eq!(read(&message, 1), Ok(Name::root()));
        assert!(read(&message, message.len() - 2).is_err());
    }
}
