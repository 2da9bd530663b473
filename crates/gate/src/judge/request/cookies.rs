//! The cookies of a request. RFC 6265 §4.2.

use super::Field;

/// The first cookie with this name; case matters (RFC 6265 §5.3). Every `Cookie` field is read,
/// because HTTP/2 and 3 may split one into several (RFC 9113 §8.2.3); hyper-auth-proxy reads only
/// the first field.
pub(crate) fn cookie<'a>(fields: &'a [Field<'a>], name: &[u8]) -> Option<&'a [u8]> {
    all(fields).find_map(|pair| {
        let rest = pair.trim_ascii_start().strip_prefix(name)?;
        Some(rest.strip_prefix(b"=")?.trim_ascii())
    })
}

/// All cookies whose names begin with this: the rest of each name, and the value.
pub(crate) fn cookies_with<'a>(
    fields: &'a [Field<'a>],
    prefix: &[u8],
) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    all(fields).filter_map(move |pair| {
        let rest = pair.trim_ascii_start().strip_prefix(prefix)?;
        let at = memchr::memchr(b'=', rest)?;
        let (name, value) = (rest.get(..at)?, rest.get(at + 1..)?);
        Some((name.trim_ascii(), value.trim_ascii()))
    })
}

/// Writes a field's cookies, except for those that gate keeps for itself: `own` and what begins
/// with `own` and `-login-`. Returns whether any was written.
pub(super) fn write_others(value: &[u8], own: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    for pair in pairs(value) {
        let pair = pair.trim_ascii();
        let is_own = pair.strip_prefix(own).is_some_and(|rest| {
            let rest = rest.trim_ascii_start();
            rest.is_empty() || rest.starts_with(b"=") || rest.starts_with(b"-login-")
        });
        if is_own || pair.is_empty() {
            continue;
        }
        if out.len() > start {
            out.extend_from_slice(b"; ");
        }
        out.extend_from_slice(pair);
    }
    out.len() > start
}

fn all<'a>(fields: &'a [Field<'a>]) -> impl Iterator<Item = &'a [u8]> {
    let lines = fields
        .iter()
        .filter(|f| f.name.len() == 6 && f.name.eq_ignore_ascii_case("cookie"));
    lines.flat_map(|line| pairs(line.value))
}

fn pairs(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(value);
    std::iter::from_fn(move || {
        let here = rest?;
        let end = memchr::memchr(b';', here);
        rest = end.and_then(|end| here.get(end + 1..));
        here.get(..end.unwrap_or(here.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields<'a>(values: &[&'a str]) -> Vec<Field<'a>> {
        let field = |value: &&'a str| Field {
            name: "Cookie",
            value: value.as_bytes(),
        };
        values.iter().map(field).collect()
    }

    #[test]
    fn cookies_are_found_by_name_and_by_its_beginning() {
        let fields = fields(&["a=1; g-login-0=x;b=", "g=2; g-login-7 = y; g-login-3"]);
        assert_eq!(cookie(&fields, b"g"), Some(b"2".as_slice()));
        assert_eq!(cookie(&fields, b"b"), Some(b"".as_slice()));
        assert_eq!(cookie(&fields, b"c"), None);
        let states: Vec<(&[u8], &[u8])> = cookies_with(&fields, b"g-login-").collect();
        assert_eq!(states, [(&b"0"[..], &b"x"[..]), (b"7", b"y")]);
    }

    #[test]
    fn the_backend_gets_only_the_cookies_of_others() {
        for (value, left) in [
            ("a=1; g=2; b=3", "a=1; b=3"),
            ("g=2", ""),
            ("g-login-1=x;a=1;g =2", "a=1"),
            ("gg=1; g-other=2; G=3", "gg=1; g-other=2; G=3"),
            (" ; ;a", "a"),
            ("g", ""),
        ] {
            let mut out = Vec::new();
            assert_eq!(
                write_others(value.as_bytes(), b"g", &mut out),
                !left.is_empty()
            );
            assert_eq!(String::from_utf8(out).unwrap(), left, "{value}");
        }
    }
}
