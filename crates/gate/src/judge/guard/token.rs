//! Finds a request's token: in a cookie, or in `Authorization: Bearer`.

use super::Rules;
use crate::judge::request::{self, Field};

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
    /// The cookie of a login, which is not a token.
    Login,
}

impl<'a> SentToken<'a> {
    pub(super) fn source(self) -> TokenSource {
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

/// Finds the token or the cookie of a login. A cookie takes precedence: if there is one, even an
/// invalid one, nothing else is tried.
pub(super) fn find<'a>(fields: &'a [Field<'a>], rules: &Rules) -> Option<SentToken<'a>> {
    let cookie = rules
        .cookie
        .as_ref()
        .and_then(|name| request::cookie(fields, name.as_bytes()));
    match cookie {
        Some(value) => Some(SentToken::Cookie(value)),
        None if rules.bearer => bearer(fields).map(SentToken::Bearer),
        None => None,
    }
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
