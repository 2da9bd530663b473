//! The syntax of single fields.

/// Whether a byte may be in a token, by its value.
const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~');
        byte += 1;
    }
    table
};

/// RFC 9110 §5.6.2.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    let is_in_token = |b: &u8| TOKEN.get(usize::from(*b)).is_some_and(|is| *is);
    !bytes.is_empty() && bytes.iter().all(is_in_token)
}

/// The members of a comma-separated list, without empty ones. RFC 9110 §5.6.1.2.
pub(super) fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|b| *b == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|member| !member.is_empty())
}

/// A `Content-Length`: only digits. RFC 9112 §6.2. No list, not even of equal numbers.
pub(super) fn length(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    let sound = !digits.is_empty() && digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit);
    let add = |sum: u64, digit: &u8| sum * 10 + u64::from(digit - b'0');
    sound.then(|| digits.iter().fold(0, add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_digits() {
        assert_eq!(length(b"0"), Some(0));
        assert_eq!(length(b" 42 "), Some(42));
        for bad in [
            "",
            "+1",
            "-1",
            "1 2",
            "1,1",
            "0x1",
            "1e3",
            "9999999999999999999",
            "\u{661}",
        ] {
            assert_eq!(length(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn tokens_have_their_characters() {
        for byte in 0..=255_u8 {
            let is = byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            assert_eq!(is_token(&[byte]), is, "{byte}");
        }
        assert!(!is_token(b""));
        assert!(!is_token(b"a b"));
    }

    #[test]
    fn lists_have_members() {
        let found: Vec<&[u8]> = members(b", close ,, X-A,").collect();
        assert_eq!(found, [b"close".as_slice(), b"X-A"]);
    }
}
