//! URIs (RFC 3986), which are not the URLs that browsers accept: those repair blanks, and refuse
//! hosts that are well-formed.

use std::net::Ipv6Addr;

/// Whether the text is a URI: a scheme, and what follows it (section 3).
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut letters = scheme.bytes();
    let begins = letters.next().is_some_and(|b| b.is_ascii_alphabetic());
    if !begins || !letters.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) {
        return false;
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let is_http = ["http", "https"]
        .iter()
        .any(|s| s.eq_ignore_ascii_case(scheme));
    let (authority, path) = match path.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            // These schemes need a host (RFC 9110, section 4.2).
            (is_authority(authority, !is_http), path)
        }
        None => (!is_http, path),
    };
    authority
        && consists_of(path, b":@/")
        && [query, fragment].iter().all(|t| consists_of(t, b":@/?"))
}

/// Section 3.2.
fn is_authority(text: &str, can_be_empty: bool) -> bool {
    let (user, place) = text.rsplit_once('@').unwrap_or(("", text));
    // A colon in brackets belongs to the address.
    let end = place.rfind(']').map_or(0, |i| i + 1);
    let Some(after) = place.get(end..) else {
        return false;
    };
    let (host, port) = match after.rfind(':') {
        Some(colon) => place.split_at(end + colon),
        None => (place, ""),
    };
    let literal = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let right = match literal {
        Some(literal) => is_literal(literal),
        None => consists_of(host, b""),
    };
    right
        && (can_be_empty || !host.is_empty())
        && port.bytes().skip(1).all(|b| b.is_ascii_digit())
        && consists_of(user, b":")
}

/// An address of version 6 or a later one (section 3.2.2), or one with a zone (RFC 6874, section
/// 2).
fn is_literal(text: &str) -> bool {
    let (address, zone) = text.split_once("%25").unwrap_or((text, "0"));
    let later = || {
        let (version, address) = text.get(1..)?.split_once('.')?;
        let is_later = text.starts_with(['v', 'V'])
            && !version.is_empty()
            && version.bytes().all(|b| b.is_ascii_hexdigit());
        (is_later && !address.is_empty()).then(|| consists_of(address, b":"))
    };
    let of_6 = address.parse::<Ipv6Addr>().is_ok() && !zone.is_empty() && consists_of(zone, b"");
    of_6 || later() == Some(true)
}

/// Whether the text contains only unreserved characters, sub-delimiters, octets in hexadecimal
/// digits, and the characters in `more` (section 2).
fn consists_of(text: &str, more: &[u8]) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut digit = || bytes.next().is_some_and(|b| b.is_ascii_hexdigit());
        let allowed = match byte {
            b'%' => digit() && digit(),
            _ => {
                byte.is_ascii_alphanumeric()
                    || b"-._~!$&'()*+,;=".contains(&byte)
                    || more.contains(&byte)
            }
        };
        if !allowed {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::is_uri;

    #[test]
    fn uris_are_those_of_rfc_3986() {
        // Browsers refuse the hosts of the second line.
        for text in [
            "https://example.com/a?b=c#d",
            "HTTP://EXAMPLE.COM:80",
            "ftp://user:word@example.com/",
            "https://256.256.256.256/",
            "https://xn--a/",
            "https://a%00b/",
            "https://a..b/",
            "https://h:99999/",
            "https://[2001:db8::1]:443/",
            "https://[v1.a:b]/",
            "https://[fe80::1%25eth0]/",
            "tel:+1.555;ext=1",
            "mailto:a@b.example",
            "urn:ietf:rfc:7095",
            "geo:46.772673,-71.282945",
            "file:///a",
            "x:",
            "https://example.com/?a/b?c",
        ] {
            assert!(is_uri(text), "{text}");
        }
    }

    #[test]
    fn text_that_browsers_repair_is_not_a_uri() {
        for text in [
            "",
            "a",
            "/a",
            "ip/2001:db8::/32",
            "1a:b",
            "https://",
            "https:///a",
            "https:a",
            "https://a b/",
            "https://a/b c",
            " https://a/",
            "https://a/%zz",
            "https://a/%4",
            "https://a/#b#c",
            "https://a/[b]",
            "https://a/?[b]",
            "https://2001:db8::1/",
            "https://[2001:db8::1/",
            "https://[g::1]/",
            "https://a:b/",
            "https://bücher.example/",
            "https://a/\"b\"",
            "https://[v.a]/",
            "https://a\\b/",
        ] {
            assert!(!is_uri(text), "{text}");
        }
    }
}
