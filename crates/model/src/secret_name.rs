//! Names of fields, flags and parameters whose values are secrets. In doubt, a value counts as a
//! secret.

use url::form_urlencoded;

/// A part of a name that contains one of these denotes a secret.
const SECRET_PARTS: [&str; 10] = [
    "auth",
    "cookie",
    "credential",
    "key",
    "passwd",
    "password",
    "secret",
    "session",
    "signature",
    "token",
];
/// A part of a name that is one of these denotes a secret.
const SECRET_WORDS: [&str; 4] = ["pass", "pwd", "sid", "sig"];
/// A part of a name that is one of these does not denote a secret, although it contains one of
/// [`SECRET_PARTS`].
const PLAIN_WORDS: [&str; 5] = ["author", "authority", "authors", "keyword", "keywords"];

/// Whether a field, a flag or a parameter with this name has a secret value.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|part| !PLAIN_WORDS.contains(part))
        .any(|part| {
            SECRET_WORDS.contains(&part) || SECRET_PARTS.iter().any(|secret| part.contains(secret))
        })
}

/// A URL with `mask` as the value of each secret parameter in its query and fragment. URLs that are
/// values of other parameters are treated in the same way.
pub fn mask_parameters(url: &str, mask: &str) -> String {
    let start = url.find(['?', '#']).map_or(url.len(), |at| at + 1);
    let (before, parameters) = url.split_at(start);
    let mut out = before.to_owned();
    for piece in parameters.split_inclusive(['&', '#']) {
        let parameter = piece.trim_end_matches(['&', '#']);
        let mut equals = parameter.match_indices('=').map(|(at, _)| at);
        let value = equals.find(|at| {
            let name = parameter[..*at].rsplit(['?', '=']).next();
            *at + 1 < parameter.len() && name.is_some_and(is_secret_encoded)
        });
        match value {
            Some(at) => out.extend([&parameter[..=at], mask, &piece[parameter.len()..]]),
            None => out += piece,
        }
    }
    out
}

/// A URL as it was given, valid or not, with `***` for user and password and for each secret
/// parameter.
pub fn mask_url(given: &str) -> String {
    let separators = ['/', '\\'];
    let scheme = given.split_once(':').filter(|(scheme, rest)| {
        rest.starts_with(separators)
            && scheme
                .chars()
                .all(|c| c.is_alphanumeric() || "+-.".contains(c))
    });
    let rest = scheme.map_or(given, |(_, rest)| rest);
    let start = given.len() - rest.trim_start_matches(separators).len();
    let end = given[start..].find(['/', '\\', '?', '#']);
    let end = end.map_or(given.len(), |end| start + end);
    let (scheme, authority, rest) = (&given[..start], &given[start..end], &given[end..]);
    let masked = match authority.rsplit_once('@') {
        Some((_, host)) => [scheme, "***@", host, rest].concat(),
        None => given.to_owned(),
    };
    mask_parameters(&masked, "***")
}

fn is_secret_encoded(name: &str) -> bool {
    form_urlencoded::parse(name.as_bytes()).any(|(name, _)| is_secret_name(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised_in_any_spelling() {
        for name in [
            "Authorization",
            "X-Access-Key",
            "X-Credential",
            "X-Signature",
            "Ocp-Apim-Subscription-Key",
            "COOKIE",
            "x-session",
            "apikey",
            "AWSAccessKeyId",
            "X-Amz-Security-Token",
            "sig",
            "client_secret",
            "keyword_token",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "",
            "Accept",
            "author",
            "Keywords",
            "design",
            "q",
            "page",
            "assign-to",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn a_url_as_it_was_given_keeps_no_secret() {
        for (url, masked) in [
            (
                "http://ann:pa55@h/p?token=x&n=1",
                "http://***@h/p?token=***&n=1",
            ),
            ("ann:pa@55@h:80", "***@h:80"),
            ("ann@h/a@b", "***@h/a@b"),
            ("http://///ann:pa55@h/", "http://///***@h/"),
            ("HTTP:\\\\ann:pa55@h", "HTTP:\\\\***@h"),
            ("h/?next=http://ann:pa55@h", "h/?next=http://ann:pa55@h"),
            ("ann:pa55@h/?u=http://x", "***@h/?u=http://x"),
            ("http://ann:pa55@", "http://***@"),
            ("[::1]:80", "[::1]:80"),
            ("://", "://"),
            ("é://ü@ö/ä", "é://***@ö/ä"),
            ("", ""),
        ] {
            assert_eq!(mask_url(url), masked);
        }
    }

    #[test]
    fn only_secret_parameters_are_masked() {
        for (url, masked) in [
            (
                "https://a/b?q=1&access_token=x%20y&n=2",
                "https://a/b?q=1&access_token=***&n=2",
            ),
            ("https://a/?api%5Fkey=x", "https://a/?api%5Fkey=***"),
            ("a/?X-Amz-Signature=x=y;z,w", "a/?X-Amz-Signature=***"),
            (
                "https://a/?sig=x?y&sig=z#top",
                "https://a/?sig=***&sig=***#top",
            ),
            (
                "https://a/?next=https://b/?token=x",
                "https://a/?next=https://b/?token=***",
            ),
            ("https://a/#/b?token=x", "https://a/#/b?token=***"),
            (
                "https://a/#state=1&id_token=x",
                "https://a/#state=1&id_token=***",
            ),
            (
                "https://a/?token=&token&key=x",
                "https://a/?token=&token&key=***",
            ),
            (
                "https://a/key=1&token=2/?author=3&keyword=4",
                "https://a/key=1&token=2/?author=3&keyword=4",
            ),
            ("", ""),
        ] {
            assert_eq!(mask_parameters(url, "***"), masked);
        }
    }
}
