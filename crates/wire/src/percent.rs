//! Percent-encoding (RFC 3986 §2.1).

use std::fmt::Write;

/// A percent sign that two hexadecimal digits do not follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PercentError;

/// The decoded bytes, where a percent sign without digits stays, as in the URL standard.
pub fn decode(text: &str) -> impl Iterator<Item = u8> {
    decode_strict(text).map(|byte| byte.unwrap_or(b'%'))
}

/// The decoded bytes, with an error in place of each percent sign without digits.
pub fn decode_strict(text: &str) -> impl Iterator<Item = Result<u8, PercentError>> {
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        if byte != b'%' {
            return Some(Ok(byte));
        }
        // `to_digit` accepts no sign, unlike `from_str_radix`.
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return Some(Err(PercentError));
        };
        rest = after.get(2..).unwrap_or_default();
        Some(Ok((high * 16 + low) as u8))
    })
}

/// Encodes each byte that is not to stay as it is. Only ASCII can stay.
pub fn encode(bytes: &[u8], stays: impl Fn(u8) -> bool) -> String {
    let mut encoded = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii() && stays(*byte) {
            encoded.push(char::from(*byte));
        } else {
            // Writing to a String does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_characters_are_encoded() {
        let all_stay = encode("a b%ü".as_bytes(), |_| true);
        assert_eq!(all_stay, "a b%%C3%BC");
        let letters = encode("a b%ü".as_bytes(), |b| b.is_ascii_alphanumeric());
        assert_eq!(letters, "a%20b%25%C3%BC");
        assert_eq!(decode(&letters).collect::<Vec<_>>(), "a b%ü".as_bytes());
    }

    #[test]
    fn digits_are_decoded_and_nothing_else() {
        let lenient = |text: &str| String::from_utf8(decode(text).collect()).unwrap();
        let strict = |text: &str| decode_strict(text).collect::<Result<Vec<_>, _>>();
        for (text, decoded) in [
            ("a%20b+c", "a b+c"),
            ("%C3%bc", "ü"),
            ("%2525", "%25"),
            ("", ""),
        ] {
            assert_eq!(lenient(text), decoded);
            assert_eq!(strict(text), Ok(decoded.into()));
        }
        for text in ["%", "a%", "%4", "%+f", "%-1", "%zz", "% 1", "100%ü", "%%4x"] {
            assert_eq!(lenient(text), text);
            assert_eq!(strict(text), Err(PercentError), "{text}");
        }
        assert_eq!(lenient("%%41"), "%A");
    }
}
