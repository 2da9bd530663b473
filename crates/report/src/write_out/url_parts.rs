//! The parts of a URL for `%{url.…}` and `%{urle.…}`.

use roundtrip_model::Target;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UrlPart {
    Scheme,
    User,
    Password,
    Host,
    /// The port; the scheme's default if the URL has none.
    Port,
    Path,
    Query,
    Fragment,
}

/// The part, as written in the URL; `None` if the URL lacks it or is invalid.
pub(super) fn part(url: &str, part: UrlPart) -> Option<String> {
    let target = Target::parse(url).ok()?;
    let url = target.url();
    match part {
        UrlPart::Scheme => Some(target.scheme.as_str().to_owned()),
        UrlPart::User => Some(url.username().to_owned()).filter(|u| !u.is_empty()),
        UrlPart::Password => url.password().map(str::to_owned),
        UrlPart::Host => Some(target.host.to_string()),
        UrlPart::Port => Some(target.port.to_string()),
        UrlPart::Path => Some(url.path().to_owned()),
        UrlPart::Query => url.query().map(str::to_owned),
        UrlPart::Fragment => url.fragment().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part() {
        let parts = |url| {
            [
                UrlPart::Scheme,
                UrlPart::User,
                UrlPart::Password,
                UrlPart::Host,
                UrlPart::Port,
                UrlPart::Path,
                UrlPart::Query,
                UrlPart::Fragment,
            ]
            .map(|p| part(url, p).unwrap_or("-".into()))
        };
        assert_eq!(
            parts("https://u:p@[::1]/a/b?q=1#f"),
            ["https", "u", "p", "[::1]", "443", "/a/b", "q=1", "f"]
        );
        assert_eq!(
            parts("example.com:8080"),
            ["http", "-", "-", "example.com", "8080", "/", "-", "-"]
        );
        assert_eq!(parts("http://"), ["-"; 8]);
    }
}
