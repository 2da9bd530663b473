//! The syntax of single fields.

/// RFC 9110 §5.6.2.
pub(super) fn is_token(bytes: &[u8]) -> bool {
    let token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    !bytes.is_empty() && bytes.iter().all(token)
}

/// The members of a comma-separated list, without the empty ones. RFC 9110 §5.6.1.2.
pub(super) fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|b| *b == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|member| !member.is_empty())
}

/// A `Content-Length`: digits and nothing else. RFC 9112 §6.2. No list, not even of equal numbers.
pub(super) fn length(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii();
    let sound = !digits.is_empty() && digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit);
    let add = |sum: u64, digit: &u8| sum * 10 + u64::from(digit - b'0');
    sound.then(|| digits.iter().fold(0, add))
}

/// `host`, `host:port`, `[v6]:port`: what may stand as an authority without userinfo. RFC 3986 §3.2. Of the characters that a
/// name may have there, names have these.
pub(super) fn is_authority(text: &[u8]) -> bool {
    let in_name = |b: &u8| b.is_ascii_alphanumeric() || b"-._~".contains(b);
    let in_address = |b: &u8| b.is_ascii_hexdigit() || b":.".contains(b);
    let (host, port) = match text.strip_prefix(b"[") {
        Some(rest) => match rest.iter().position(|b| *b == b']') {
            Some(end) if end > 0 && rest.iter().take(end).all(in_address) => rest.split_at(end + 1),
            _ => return false,
        },
        None => {
            let end = text.iter().position(|b| *b == b':').unwrap_or(text.len());
            let (name, port) = text.split_at(end);
            if !name.iter().all(in_name) {
                return false;
            }
            (name, port)
        }
    };
    !host.is_empty() && text.len() <= 255 && (port.is_empty() || is_port(port))
}

/// `:`, and perhaps a number behind it.
fn is_port(text: &[u8]) -> bool {
    let Some(digits) = text.strip_prefix(b":") else {
        return false;
    };
    let number = std::str::from_utf8(digits).unwrap_or("x");
    digits.is_empty() || (digits.iter().all(u8::is_ascii_digit) && number.parse::<u16>().is_ok())
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
    fn an_authority_is_a_host_and_perhaps_a_port() {
        for good in [
            "a",
            "A.b-c_d.",
            "192.0.2.1:80",
            "[2001:db8::1]",
            "[::1]:8443",
            "a:",
            "a:65535",
        ] {
            assert!(is_authority(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            ":80",
            "a:b",
            "a:80:90",
            "a:+80",
            "a:65536",
            "[::1",
            "::1]",
            "[]",
            "[::1]x",
            "[a.example:80]x",
            "[g]",
            "a@b",
            "a,b",
            "a b",
            "a%00",
            "(a)",
            "a;b",
            "\u{e9}",
        ] {
            assert!(!is_authority(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn lists_have_members() {
        let found: Vec<&[u8]> = members(b", close ,, X-A,").collect();
        assert_eq!(found, [b"close".as_slice(), b"X-A"]);
    }
}
