//! `Cache-Control`, as far as it concerns a private cache. RFC 9111 §5.2.
//!
//! `s-maxage` and `private` concern shared caches. `immutable` (RFC 8246) asks clients not to
//! revalidate fresh answers, which never happens here.

use std::time::Duration;

/// Replaces any larger number of seconds. RFC 9111 §1.2.2.
const MAX_SECONDS: u64 = 1 << 31;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Directives {
    pub(super) no_store: bool,
    pub(super) no_cache: bool,
    pub(super) must_revalidate: bool,
    pub(super) max_age: Option<Duration>,
}

impl Directives {
    /// The directives of all `Cache-Control` lines.
    pub(super) fn from_headers(headers: &[(String, Vec<u8>)]) -> Self {
        let mut all = Self::default();
        for value in super::freshness::headers(headers, "cache-control") {
            all.add(value);
        }
        all
    }

    pub(super) fn parse(value: &[u8]) -> Self {
        let mut directives = Self::default();
        directives.add(value);
        directives
    }

    fn add(&mut self, value: &[u8]) {
        for part in parts(value) {
            let mut halves = part.splitn(2, |byte| *byte == b'=');
            let name = halves.next().unwrap_or_default().trim_ascii();
            let argument = halves.next().map(<[u8]>::trim_ascii);
            match name.to_ascii_lowercase().as_slice() {
                b"no-store" => self.no_store = true,
                // This includes the form with field names: a cache may omit those fields, but must
                // not use them.
                b"no-cache" => self.no_cache = true,
                b"must-revalidate" => self.must_revalidate = true,
                b"max-age" => {
                    let age = seconds(argument.unwrap_or_default());
                    // RFC 9111 §4.2.1: of several values, the most cautious one counts; an invalid
                    // one means stale.
                    self.max_age = Some(self.max_age.map_or(age, |known| known.min(age)));
                }
                _ => {}
            }
        }
    }
}

/// Parses seconds, also in quotes: senders should not write quotes, but recipients must accept
/// them. RFC 9111 §5.2.
fn seconds(argument: &[u8]) -> Duration {
    let inner = argument
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    let digits = inner.unwrap_or(argument);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Duration::ZERO;
    }
    let seconds = std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(MAX_SECONDS).min(MAX_SECONDS))
}

/// Splits at commas outside quotes.
fn parts(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    value.split(move |byte| {
        let escaped = std::mem::take(&mut is_escaped);
        match byte {
            b'\\' if is_quoted && !escaped => is_escaped = true,
            b'"' if !escaped => is_quoted = !is_quoted,
            b',' if !is_quoted => return true,
            _ => {}
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_parsed_as_in_the_rfc() {
        let age = |seconds| Some(Duration::from_secs(seconds));
        for (value, no_store, no_cache, must_revalidate, max_age) in [
            ("", false, false, false, None),
            ("max-age=60", false, false, false, age(60)),
            ("Max-Age=\"60\" , PRIVATE", false, false, false, age(60)),
            ("s-maxage=60, public, immutable", false, false, false, None),
            ("no-store", true, false, false, None),
            (
                "no-cache=\"set-cookie, x\", max-age=5",
                false,
                true,
                false,
                age(5),
            ),
            ("x=\"no-store, max-age=5\"", false, false, false, None),
            ("x=\"a\\\", no-store\"", false, false, false, None),
            (
                "must-revalidate,max-age=10,max-age=7",
                false,
                false,
                true,
                age(7),
            ),
            ("max-age", false, false, false, age(0)),
            ("max-age=", false, false, false, age(0)),
            ("max-age=-1", false, false, false, age(0)),
            ("max-age=1.5", false, false, false, age(0)),
            (
                "max-age=99999999999999999999999",
                false,
                false,
                false,
                age(1 << 31),
            ),
            (",,no-cache,,", false, true, false, None),
        ] {
            let expected = Directives {
                no_store,
                no_cache,
                must_revalidate,
                max_age,
            };
            assert_eq!(Directives::parse(value.as_bytes()), expected, "{value}");
        }
    }
}
