//! The names of subject and issuer. RFC 5280 §4.1.2.4.

use std::fmt;

use super::der::{Der, OBJECT_ID, SEQUENCE, SET};
use super::oid;
use crate::Result;
use crate::text::{cleaned, printable};

const T61_STRING: u8 = 0x14;
const UNIVERSAL_STRING: u8 = 0x1c;
const BMP_STRING: u8 = 0x1e;

/// Attributes in the order of the certificate, for example `("CN", "example.com")`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DistinguishedName {
    pub attributes: Vec<(String, String)>,
}

impl DistinguishedName {
    /// The first attribute with that short name.
    pub fn find(&self, attribute: &str) -> Option<&str> {
        let mut all = self.attributes.iter();
        all.find(|(name, _)| name == attribute)
            .map(|(_, value)| value.as_str())
    }

    /// Every attribute, for example `C=US, O=Example, CN=Example CA`.
    pub fn full(&self) -> String {
        let parts: Vec<String> = self
            .attributes
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        parts.join(", ")
    }

    pub(super) fn read(mut sequence: Der<'_>) -> Result<Self> {
        let mut attributes = Vec::new();
        while !sequence.is_empty() {
            let mut set = sequence.open(SET)?;
            while !set.is_empty() {
                let mut attribute = set.open(SEQUENCE)?;
                let id = attribute.expect(OBJECT_ID)?;
                let (tag, value) = attribute.any()?;
                let name = oid::attribute(id).map_or_else(|| oid::dotted(id), str::to_owned);
                attributes.push((name, text(tag, value)));
            }
        }
        Ok(Self { attributes })
    }
}

impl fmt::Display for DistinguishedName {
    /// The common name; without one, the organization; without either, everything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.find("CN").or_else(|| self.find("O")) {
            Some(name) => f.write_str(name),
            None => f.write_str(&self.full()),
        }
    }
}

/// Decodes the string types of a `DirectoryString`; types that are not listed are, or contain,
/// ASCII.
fn text(tag: u8, value: &[u8]) -> String {
    match tag {
        T61_STRING => cleaned(value.iter().copied().map(char::from)),
        BMP_STRING => {
            let units = value.chunks_exact(2).map(|pair| match pair {
                [high, low] => u16::from_be_bytes([*high, *low]),
                _ => 0,
            });
            let decoded =
                char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
            cleaned(decoded)
        }
        UNIVERSAL_STRING => cleaned(value.chunks_exact(4).map(|bytes| {
            let number = bytes.iter().fold(0, |n, byte| n << 8 | u32::from(*byte));
            char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
        })),
        _ => printable(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_type_becomes_text() {
        assert_eq!(
            text(0x0c, "Müller\u{1b}[31m".as_bytes()),
            "Müller\u{fffd}[31m"
        );
        assert_eq!(text(T61_STRING, b"M\xfcller"), "Müller");
        assert_eq!(
            text(BMP_STRING, &[0, b'M', 0x20, 0xac, 0xd8, 0]),
            "M€\u{fffd}"
        );
        assert_eq!(text(UNIVERSAL_STRING, &[0, 1, 0xf6, 0, 9]), "😀");
    }
}
