//! The parts of a URL for `%{url.…}` and `%{urle.…}`.

use roundtrip_model::Target;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Scheme,
    User,
    Password,
    Host,
    /// The scheme's default if the URL has none.
    Port,
    Path,
    Query,
    Fragment,
}

/// The part, as written in the URL; `None` if the URL lacks it or is invalid.
pub(super) fn part(url: &str, part: Part) -> Option<String> {
    let target = Target::parse(url).ok()?;
    let url = target.url();
    match part {
        Part::Scheme => Some(target.scheme.as_str().to_owned()),
        Part::User => Some(url.username().to_owned()).filter(|u| !u.is_empty()),
        Part::Password => url.password().map(str::to_owned),
        Part::Host => Some(target.host.to_string()),
        Part::Port => Some(target.port.to_string()),
        Part::Path => Some(url.path().to_owned()),
        Part::Query => url.query().map(str::to_owned),
        Part::Fragment => url.fragment().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part() {
        let parts = |url| {
            [
                Part::Scheme,
                Part::User,
                Part::Password,
                Part::Host,
                Part::Port,
                Part::Path,
                Part::Query,
                Part::Fragment,
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
