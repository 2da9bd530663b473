//! Determines the format in which a client wants gate's own answers.

use roundtrip_wire::accept::media_ranges;

use super::Request;
use super::id::request_id;
use crate::record::{Caller, ErrorFormat};

/// Longer values are not legitimate.
const MAX_ACCEPT_LENGTH: usize = 512;

impl Caller {
    /// Sets the request's ID, once: a head may be judged more than once.
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
    let accept = request.values("accept").next();
    accept.map_or(ErrorFormat::Text, preferred)
}

/// RFC 9110 §12.5.1, as far as it decides between these three. If several are equally preferred,
/// the first is chosen.
fn preferred(accept: &[u8]) -> ErrorFormat {
    // Most programs send no more.
    if accept == b"*/*" || accept.len() > MAX_ACCEPT_LENGTH {
        return ErrorFormat::Text;
    }
    let mut best = (0, ErrorFormat::Text);
    for range in media_ranges(accept) {
        let is = |kind| range.is(kind);
        let form = if is("text/html") || is("application/xhtml+xml") {
            ErrorFormat::Html
        } else if is("application/problem+json") || is("application/json") {
            ErrorFormat::Problem
        } else if is("text/plain") || is("*/*") || is("text/*") {
            ErrorFormat::Text
        } else {
            continue;
        };
        let weight = range.weight();
        if weight > best.0 {
            best = (weight, form);
        }
    }
    best.1
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
