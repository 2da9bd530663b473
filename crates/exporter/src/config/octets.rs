//! Bytes that need not be text: `!!binary` in YAML.

use std::borrow::Cow;
use std::fmt::Write;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Deserializer};

const TAG: &str = "!!binary ";
/// The code points for bytes above 127 while the YAML is parsed, which only knows characters: a
/// private area that no file uses.
const PLACE: u32 = 0x10_ff00;

/// Text, or the bytes of `!!binary`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Octets(pub(crate) Vec<u8>);

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let mut bytes = Vec::new();
        for c in text.chars() {
            match u8::try_from(u32::from(c).wrapping_sub(PLACE)) {
                Ok(byte) => bytes.push(byte),
                Err(_) => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        Ok(Self(bytes))
    }
}

/// Writes `!!binary` as quoted text where its bytes are not UTF-8, which the parser would refuse.
pub(super) fn quoted(yaml: &str) -> Cow<'_, str> {
    if !yaml.contains(TAG) {
        return yaml.into();
    }
    let mut parts = yaml.split(TAG);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_code = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
        let end = part.find(|c| !is_code(c)).unwrap_or(part.len());
        let (code, rest) = part.split_at(end);
        match BASE64_STANDARD.decode(code) {
            Ok(bytes) if std::str::from_utf8(&bytes).is_err() => {
                out.push('"');
                for byte in bytes {
                    let at = if byte < 128 { 0 } else { PLACE };
                    let _ = write!(out, "\\U{:08x}", at + u32::from(byte));
                }
                out.push('"');
                out += rest;
            }
            _ => out += &[TAG, part].concat(),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_text_are_read() {
        let read = |yaml: &str| serde_saphyr::from_str::<Vec<Octets>>(&quoted(yaml)).unwrap();
        let yaml = "- !!binary AAAACATSFi8= # a comment\n- !!binary UQ==\n- \u{e9}\n";
        let bytes: [&[u8]; 3] = [
            &[0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f],
            b"Q",
            "\u{e9}".as_bytes(),
        ];
        assert_eq!(read(yaml), bytes.map(|bytes| Octets(bytes.into())));
        assert_eq!(quoted("a: b"), "a: b");
    }
}
