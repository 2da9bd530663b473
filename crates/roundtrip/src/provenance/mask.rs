//! Secrets in a command line: passwords, cookies, bodies and the headers that carry credentials
//! become `***`. In doubt, a word is masked.

use roundtrip_model::{is_secret_name, mask_parameters};

const HIDDEN: &str = "***";

/// Commands with the flags of curl.
const ASKING: [&str; 6] = ["probe", "compare", "curl", "wget", "http", "httping"];
/// The short flags of such programs whose value is a secret, and those with another value.
const SHORT_SECRETS: &str = "uUbdF";
const SHORT_VALUES: &str = "XHAeExmciowryzCDKPQTYt";
const LONG_SECRETS: [&str; 4] = ["--data", "--cookie", "--form", "--url-query"];
/// Flags with a secret's name whose value is the name of a file, or its format.
const NAMES_OF_FILES: [&str; 5] = [
    "--key",
    "--key-type",
    "--proxy-key",
    "--proxy-key-type",
    "--pubkey",
];

/// The words of a command line, without its secrets.
pub(crate) fn masked(words: &[String]) -> Vec<String> {
    let mut out = Vec::with_capacity(words.len());
    let (mut is_asking, mut is_next_secret) = (false, false);
    for word in words {
        let name = word.rsplit('/').next().unwrap_or(word);
        is_asking |= ASKING.contains(&name);
        if std::mem::take(&mut is_next_secret) {
            out.push(value(word));
            continue;
        }
        let flag = if is_asking { flag(word) } else { Flag::None };
        out.push(match flag {
            Flag::Next => {
                is_next_secret = true;
                word.clone()
            }
            Flag::Inside(at) => {
                let (before, secret) = word.split_at(at);
                format!("{before}{}", value(secret))
            }
            Flag::None => plain(word),
        });
    }
    out
}

/// Where the secret of a flag is.
enum Flag {
    None,
    Next,
    /// The secret is in the flag's own word, from this index on.
    Inside(usize),
}

fn flag(word: &str) -> Flag {
    if word.starts_with("--") {
        let (name, equals) = match word.find('=') {
            Some(at) => (word.get(..at).unwrap_or(word), Some(at + 1)),
            None => (word, None),
        };
        let is_secret = name == "--user"
            || name == "--proxy-user"
            || LONG_SECRETS.iter().any(|flag| name.starts_with(flag))
            || (is_secret_name(name) && !NAMES_OF_FILES.contains(&name));
        return match (is_secret, equals) {
            (false, _) => Flag::None,
            (true, Some(at)) => Flag::Inside(at),
            (true, None) => Flag::Next,
        };
    }
    let Some(letters) = word.strip_prefix('-') else {
        return Flag::None;
    };
    for (at, letter) in letters.char_indices() {
        if SHORT_SECRETS.contains(letter) {
            let behind = 1 + at + letter.len_utf8();
            return if behind < word.len() {
                Flag::Inside(behind)
            } else {
                Flag::Next
            };
        }
        if SHORT_VALUES.contains(letter) {
            break;
        }
    }
    Flag::None
}

/// The value of a flag that has a secret. A file's name is not one.
fn value(secret: &str) -> String {
    if secret.starts_with('@') {
        secret.to_owned()
    } else {
        HIDDEN.to_owned()
    }
}

/// A word that only its form shows to be a secret: a header, a URL with a password or with secret
/// parameters, a line for a shell.
fn plain(word: &str) -> String {
    if let Some(name) = header(word) {
        return format!("{name}: {HIDDEN}");
    }
    if word.contains(char::is_whitespace) {
        let inner = split(word);
        let safe = masked(&inner);
        if inner.len() > 1 && safe != inner {
            let words: Vec<String> = safe.iter().map(|word| quoted(word)).collect();
            return words.join(" ");
        }
    }
    mask_parameters(&without_user(word), HIDDEN)
}

/// Everything before the value of a header that carries credentials.
fn header(word: &str) -> Option<&str> {
    let (before, _) = word.split_once(':')?;
    let name = before.rsplit(['=', ' ']).next().unwrap_or(before);
    let name = name.strip_prefix("-H").unwrap_or(name);
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    (is_name && is_secret_name(name)).then_some(before)
}

/// The word with user and password removed from each URL, and from a proxy without a scheme.
fn without_user(word: &str) -> String {
    let mut out = String::new();
    let mut rest = word;
    loop {
        let start = rest.find("://").map_or(0, |at| at + 3);
        let (before, after) = rest.split_at(start);
        let end = after.find(['/', '?', '#', ' ', ',']).unwrap_or(after.len());
        let (authority, behind) = after.split_at(end);
        out.push_str(before);
        match authority.rsplit_once('@') {
            Some((user, host)) if start > 0 || user.contains(':') => {
                out.push_str(HIDDEN);
                out.push('@');
                out.push_str(host);
            }
            _ => out.push_str(authority),
        }
        if !behind.contains("://") {
            out.push_str(behind);
            return out;
        }
        rest = behind;
    }
}

/// The words of a shell's line, without its quotes.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match quote {
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c.is_whitespace() => words.push(String::new()),
            Some(q) if q == c => quote = None,
            _ => {
                if let Some(last) = words.last_mut() {
                    last.push(c);
                }
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The word, quoted for a shell if that is needed.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-_./:,=%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &[&str]) -> String {
        let words: Vec<String> = line.iter().map(|w| (*w).to_owned()).collect();
        masked(&words).join(" ")
    }

    #[test]
    fn no_spelling_of_a_secret_is_told() {
        for line in [
            &["probe", "-u", "me:SECRET", "https://a/"][..],
            &["probe", "-ume:SECRET", "https://a/"],
            &["probe", "-su", "me:SECRET", "https://a/"],
            &["probe", "-kIume:SECRET", "https://a/"],
            &["probe", "--user=me:SECRET", "https://a/"],
            &["probe", "-H", "Authorization: Bearer SECRET", "https://a/"],
            &["probe", "-HAuthorization: Bearer SECRET", "https://a/"],
            &["probe", "--header=X-Auth-Token: SECRET", "https://a/"],
            &["probe", "-H", "cookie: sid=SECRET; b=SECRET", "https://a/"],
            &["probe", "-H", "X-Access-Key: SECRET", "https://a/"],
            &["probe", "-H", "X-Credential: SECRET", "https://a/"],
            &["probe", "-HX-Signature: SECRET", "https://a/"],
            &[
                "probe",
                "-H",
                "Ocp-Apim-Subscription-Key: SECRET",
                "https://a/",
            ],
            &["probe", "https://a/?q=1&access_token=SECRET&n=2"],
            &[
                "probe",
                "-H",
                "Referer: https://b/?sig=SECRET",
                "https://a/",
            ],
            &["probe", "a/?next=https://b/?api_key=SECRET#token=SECRET"],
            &["path", "--", "sh", "-c", "wget 'https://a/?sig=SECRET&n=2'"],
            &["probe", "-b", "sid=SECRET", "https://a/"],
            &["probe", "--cookie", "sid=SECRET", "https://a/"],
            &["probe", "-d", "password=SECRET", "https://a/"],
            &["probe", "--data-urlencode=p=SECRET", "https://a/"],
            &["probe", "https://me:SECRET@a/?next=https://you:SECRET@b/"],
            &["probe", "-x", "http://me:SECRET@proxy:8080", "https://a/"],
            &["probe", "--proxy", "me:SECRET@proxy:8080", "https://a/"],
            &[
                "path",
                "--rtt",
                "9ms",
                "--",
                "curl",
                "-u",
                "me:SECRET",
                "https://a/",
            ],
            &[
                "path",
                "--",
                "/usr/bin/curl",
                "--oauth2-bearer",
                "SECRET",
                "https://a/",
            ],
            &["path", "--", "sh", "-c", "curl -u me:SECRET 'https://a/'"],
            &[
                "path",
                "--",
                "sh",
                "-c",
                "curl -H \"Authorization: Basic SECRET\" https://a/; ls",
            ],
        ] {
            let told = of(line);
            assert!(!told.contains("SECRET"), "{told}");
            assert!(told.contains("***") && told.contains("a/"), "{told}");
        }
    }

    #[test]
    fn words_that_are_not_secrets_stay() {
        for line in [
            &[
                "probe",
                "-c",
                "5",
                "-H",
                "Accept: text/html",
                "-d",
                "@file",
                "https://a/b@c?d=e:f",
            ][..],
            &[
                "path",
                "--rtt",
                "60ms",
                "--",
                "sh",
                "-c",
                "sort -u 'a b' | head",
            ],
            &["perf", "-d", "quic/proto+gso44", "--seed", "7"],
            &["rdap", "--timing", "example.com"],
            &["probe", "--key", "key.pem", "https://a/?author=b&keyword=c"],
        ] {
            assert_eq!(of(line), line.join(" "));
        }
    }

    #[test]
    fn a_command_can_be_typed_again() {
        assert_eq!(quoted("quic/proto+gso44"), "quic/proto+gso44");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
