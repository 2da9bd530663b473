//! Determines the format in which a client wants gate's own answers.

use super::Request;
use super::id::request_id;
use crate::record::{Caller, ErrorFormat};

/// Longer values are not legitimate.
const MAX_ACCEPT_LENGTH: usize = 512;

impl Caller {
    /// A head may be judged more than once; it keeps its ID.
    pub(crate) fn set_request(&mut self, request: &Request<'_>) {
        if !self.id.is_none() {
            return;
        }
        self.id = request_id(request);
        self.is_head = request.method == "HEAD";
        self.form = form(request);
    }
}

/// Whether the client would rather have a page than anything else.
pub(crate) fn prefers_page(request: &Request<'_>) -> bool {
    form(request) == ErrorFormat::Html
}

fn form(request: &Request<'_>) -> ErrorFormat {
    let accept = request
        .fields
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case("accept"));
    accept.map_or(ErrorFormat::Text, |field| preferred(field.value))
}

/// RFC 9110 §12.5.1, as far as it decides between these three. If several are equally preferred,
/// the first is chosen.
fn preferred(accept: &[u8]) -> ErrorFormat {
    // Most programs send no more.
    if accept == b"*/*" || accept.len() > MAX_ACCEPT_LENGTH {
        return ErrorFormat::Text;
    }
    let mut best = (0, ErrorFormat::Text);
    for range in accept.split(|b| *b == b',') {
        let mut parts = range.split(|b| *b == b';').map(<[u8]>::trim_ascii);
        let kind = parts.next().unwrap_or_default();
        let is = |other: &[u8]| kind.eq_ignore_ascii_case(other);
        let form = if is(b"text/html") || is(b"application/xhtml+xml") {
            ErrorFormat::Html
        } else if is(b"application/problem+json") || is(b"application/json") {
            ErrorFormat::Problem
        } else if is(b"text/plain") || is(b"*/*") || is(b"text/*") {
            ErrorFormat::Text
        } else {
            continue;
        };
        let weight = parts.find_map(weight).unwrap_or(1000);
        if weight > best.0 {
            best = (weight, form);
        }
    }
    best.1
}

/// The weight in thousandths.
fn weight(part: &[u8]) -> Option<u32> {
    let (name, value) = part.split_at_checked(2)?;
    if !name.eq_ignore_ascii_case(b"q=") {
        return None;
    }
    let (whole, rest) = value.split_first()?;
    let digits = rest.strip_prefix(b".").unwrap_or_default();
    let digit = |at: usize| match digits.get(at) {
        Some(b @ b'0'..=b'9') => u32::from(b - b'0'),
        _ => 0,
    };
    match whole {
        b'1' => Some(1000),
        b'0' => Some(digit(0) * 100 + digit(1) * 10 + digit(2)),
        _ => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_programs_are_told_as_they_read() {
        for (accept, form) in [
            ("", ErrorFormat::Text),
            ("*/*", ErrorFormat::Text),
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                ErrorFormat::Html,
            ),
            ("application/json", ErrorFormat::Problem),
            ("application/json, text/plain, */*", ErrorFormat::Problem),
            (
                "Application/Problem+JSON;q=0.9, text/html;q=0.1",
                ErrorFormat::Problem,
            ),
            ("application/json;q=0, text/html;q=0.001", ErrorFormat::Html),
            ("text/plain;q=0.5, text/html;q=0.4", ErrorFormat::Text),
            ("image/png", ErrorFormat::Text),
            ("text/html;q=x, ;;,,;q=", ErrorFormat::Text),
        ] {
            assert_eq!(preferred(accept.as_bytes()), form, "{accept}");
        }
        let long = "text/html,".repeat(60);
        assert_eq!(preferred(long.as_bytes()), ErrorFormat::Text);
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_accepted_is_judged(accept: Vec<u8>) {
            preferred(&accept);
        }
    }
}
