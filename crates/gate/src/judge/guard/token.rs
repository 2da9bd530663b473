//! Finds a request's token: in a cookie, or in `Authorization: Bearer`.

use super::Rules;
use crate::judge::request::Field;

/// A token as the client sent it.
#[derive(Clone, Copy)]
pub(super) enum SentToken<'a> {
    Cookie(&'a [u8]),
    Bearer(&'a [u8]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenSource {
    Cookie,
    Bearer,
}

impl<'a> SentToken<'a> {
    pub(super) fn dress(self) -> TokenSource {
        match self {
            Self::Cookie(_) => TokenSource::Cookie,
            Self::Bearer(_) => TokenSource::Bearer,
        }
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Cookie(bytes) | Self::Bearer(bytes) => bytes,
        }
    }
}

/// A cookie takes precedence: if there is one, even an invalid one, nothing else is tried.
pub(super) fn find<'a>(fields: &'a [Field<'a>], rules: &Rules) -> Option<SentToken<'a>> {
    let cookie = rules
        .cookie
        .as_ref()
        .and_then(|name| cookie(fields, name.as_bytes()));
    match cookie {
        Some(value) => Some(SentToken::Cookie(value)),
        None if rules.bearer => bearer(fields).map(SentToken::Bearer),
        None => None,
    }
}

/// The first cookie with this name; case matters (RFC 6265 §5.3). Every `Cookie` field is read,
/// because HTTP/2 and 3 may split one into several (RFC 9113 §8.2.3); hyper-auth-proxy reads only
/// the first field.
fn cookie<'a>(fields: &'a [Field<'a>], name: &[u8]) -> Option<&'a [u8]> {
    let lines = fields
        .iter()
        .filter(|f| f.name.len() == 6 && f.name.eq_ignore_ascii_case("cookie"));
    lines.flat_map(|line| pairs(line.value)).find_map(|pair| {
        let rest = pair.trim_ascii_start().strip_prefix(name)?;
        Some(rest.strip_prefix(b"=")?.trim_ascii())
    })
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

/// RFC 6750 §2.1. Two `Authorization` fields contradict each other, so neither counts.
fn bearer<'a>(fields: &'a [Field<'a>]) -> Option<&'a [u8]> {
    let mut lines = fields
        .iter()
        .filter(|f| f.name.len() == 13 && f.name.eq_ignore_ascii_case("authorization"));
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return None;
    };
    let (scheme, token) = line.value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"Bearer ")
        .then(|| token.trim_ascii())
}
