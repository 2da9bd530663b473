//! Where the browser goes after a login: a path of the same origin. No value can be made that a
//! browser would take for another origin.

/// A longer path is replaced by `/`: the cookie that remembers it is at most 4096 bytes long.
const MAX_LENGTH: usize = 1024;

/// An ASCII path that begins with exactly one slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReturnPath(String);

impl ReturnPath {
    /// Takes a path with its query; anything else becomes `/`.
    pub(crate) fn new(target: &str) -> Self {
        // Browsers read `\` as `/`, and drop tabs and line ends (WHATWG URL §4.4).
        let odd = |c: char| c.is_control() || c == '\\';
        let is_path = target.starts_with('/') && !target.starts_with("//");
        if !is_path || target.contains(odd) {
            return Self("/".into());
        }
        let mut path = String::with_capacity(target.len());
        for byte in target.bytes() {
            if byte.is_ascii_graphic() && !b"\"<>`".contains(&byte) {
                path.push(char::from(byte));
            } else {
                path.push('%');
                let digit = |n: u8| char::from_digit(u32::from(n), 16).unwrap_or('0');
                path.extend([digit(byte >> 4), digit(byte & 15)].map(|c| c.to_ascii_uppercase()));
            }
        }
        Self(if path.len() > MAX_LENGTH {
            "/".into()
        } else {
            path
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    #[test]
    fn paths_stay_as_they_are_and_everything_else_is_the_first_page() {
        for (target, path) in [
            ("/", "/"),
            ("/a/b?c=d&e=%2F", "/a/b?c=d&e=%2F"),
            ("/ä b", "/%C3%A4%20b"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("/\t/evil.example", "/"),
            ("https://evil.example/", "/"),
            ("evil", "/"),
            ("", "/"),
        ] {
            assert_eq!(ReturnPath::new(target).as_str(), path, "{target}");
        }
        let long = format!("/{}", "x".repeat(MAX_LENGTH));
        assert_eq!(ReturnPath::new(&long).as_str(), "/");
    }

    proptest! {
        #[test]
        fn no_browser_leaves_the_origin(target in "[/\\\\a:@.?#\t\n%]{0,12}|\\PC{0,12}") {
            let base = Url::parse("https://own.example/x/y").unwrap();
            let there = base.join(ReturnPath::new(&target).as_str()).unwrap();
            prop_assert_eq!(there.origin(), base.origin());
        }
    }
}
