//! Parses a file into a [`Config`], or says where it is wrong and what to do about it. Messages
//! repeat no values except times, sizes and networks, because any other value may be a secret in
//! the wrong place.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use super::Config;
use super::nearest::nearest;
use crate::GateError;

/// The largest size of a file; no hand-written file is larger.
const MAX_FILE_SIZE: u64 = 1024 * 1024;
/// If no key is near, up to this many are listed; otherwise the message says where to find them.
const MAX_LISTED_KEYS: usize = 8;

impl Config {
    pub fn read(path: &Path) -> Result<Self, GateError> {
        let unreadable = |source| GateError::Unreadable {
            path: path.into(),
            source,
        };
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(unreadable)?;
        let read = file.take(MAX_FILE_SIZE + 1).read_to_end(&mut bytes);
        if read.map_err(unreadable)? as u64 > MAX_FILE_SIZE {
            return Err(GateError::FileTooLarge {
                path: path.into(),
                limit: MAX_FILE_SIZE as usize,
            });
        }
        let name = path.display().to_string();
        let text = String::from_utf8(bytes).map_err(|error| {
            let bytes = error.as_bytes();
            let good = bytes.get(..error.utf8_error().valid_up_to());
            let good = String::from_utf8_lossy(good.unwrap_or_default());
            let why = "this is not UTF-8, which TOML requires; save the file in that encoding";
            at(&name, &good, good.len(), why.into())
        })?;
        Self::parse(&text, &name)
    }

    /// Errors call the text `name`.
    pub fn parse(text: &str, name: &str) -> Result<Self, GateError> {
        toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let why = explain(error.message(), text, &span);
            at(name, text, span.start, why)
        })
    }
}

fn at(name: &str, text: &str, offset: usize, why: String) -> GateError {
    let (line, column) = line_and_column(text, offset);
    GateError::Config {
        name: name.to_owned(),
        line,
        column,
        why,
    }
}

/// The line and the column of a byte offset, both counted from 1.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.get(line_start..).unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// A longer key may be a secret in the wrong place.
const MAX_KEY_LENGTH: usize = 32;

/// Rewrites Serde's message, and adds what to do.
fn explain(message: &str, text: &str, span: &Range<usize>) -> String {
    let table = table(text, span.start);
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let (key, keys) = quoted(rest);
        if key.len() > MAX_KEY_LENGTH {
            return format!("{table} has no key like that");
        }
        return unknown(&format!("{table} has no key `{key}`"), key, &keys);
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let (_, words) = quoted(rest);
        return format!("this has to be one of {}", list(&words));
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        let (key, _) = quoted(rest);
        return format!("{table} needs the key `{key}`; add it");
    }
    for wrong in ["invalid type: ", "invalid value: "] {
        if let Some(rest) = message.strip_prefix(wrong) {
            // For "string "canary", expected u32", the expected type is enough.
            let expected = rest.rsplit_once(", expected ").map_or(rest, |(_, e)| e);
            return format!("this has to be {}", plain(expected));
        }
    }
    if message == "invalid socket address syntax" {
        return format!("this has to be {}", plain("socket address"));
    }
    // The first of several lines.
    message.lines().next().unwrap_or_default().to_owned()
}

fn unknown(said: &str, key: &str, keys: &[&str]) -> String {
    match nearest(key, keys) {
        Some(near) => format!("{said}; did you mean `{near}`?"),
        None if keys.len() <= MAX_LISTED_KEYS => format!("{said}, only {}", list(keys)),
        None => format!("{said}; `roundtrip gate init` writes a file with all keys"),
    }
}

/// The first word in backticks, and those after it.
fn quoted(text: &str) -> (&str, Vec<&str>) {
    let mut words = text.split('`').skip(1).step_by(2);
    (words.next().unwrap_or_default(), words.collect())
}

fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

/// The table with the last header before this place.
fn table(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or_default();
    let headers = before.lines().rev().map(str::trim_start);
    let line_at = text.get(offset..).unwrap_or_default();
    // The place may be the header itself.
    let own = line_at.lines().next().filter(|line| line.starts_with('['));
    let header = own.into_iter().chain(headers).find(|l| l.starts_with('['));
    match header.and_then(|header| header.split_once(']')) {
        Some((name, _)) => format!("[{}]", name.trim_start_matches('[').trim()),
        None => "the file".into(),
    }
}

/// Describes a type that Serde's message names.
fn plain(expected: &str) -> &str {
    match expected {
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        "a boolean" => "true or false",
        "a string" => "a string in quotes",
        "a sequence" => "a list in brackets, as in [\"one\", \"two\"]",
        "socket address" => "an address with its port, as in \"127.0.0.1:8080\" or \"[::1]:8080\"",
        other if other.starts_with("struct ") || other == "a map" => "a table of keys",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Config::parse(text, "gate.toml").unwrap_err().to_string()
    }

    #[test]
    fn unknown_keys_have_a_place_and_a_neighbour() {
        for (text, expected) in [
            (
                "[listen]\nhtps = []\n",
                "gate.toml:2:1: [listen] has no key `htps`; did you mean `https`?",
            ),
            (
                "[log]\n  verbosity = 3\n",
                "gate.toml:2:3: [log] has no key `verbosity`, only `access`",
            ),
            (
                "lisen = 1",
                "gate.toml:1:1: the file has no key `lisen`; did you mean `listen`?",
            ),
            (
                "[upstream.a]\n[upstream.b]\nwarmth = 1\nservers = []",
                "gate.toml:3:1: [upstream.b] has no key `warmth`; did you mean `warm`?",
            ),
            (
                "[limits]\nzzzzzzzzz = 1",
                "gate.toml:2:1: [limits] has no key `zzzzzzzzz`; `roundtrip gate init` writes a file with all keys",
            ),
        ] {
            assert_eq!(error(text), expected);
        }
    }

    #[test]
    fn errors_in_values_name_their_place() {
        for (text, expected) in [
            (
                "[listen]\nhttp = [\"8080\"]",
                "2:9: this has to be an address",
            ),
            (
                "[listen]\nthreads = -1",
                "2:11: this has to be a whole number from 0 to 65535",
            ),
            (
                "[listen]\nh3 = \"yes\"",
                "2:6: this has to be true or false",
            ),
            (
                "[limits]
head_time = \"10\"",
                "2:13: `10` is not a valid time",
            ),
            (
                "[limits]
body = \"10 MB\"",
                "2:8: `10 MB` is not a valid size",
            ),
            (
                "[limits]\nbody = true",
                "2:8: this has to be a number of bytes",
            ),
            (
                "[tls]\nresumption = \"on\"",
                "2:14: this has to be one of `stateless`, `single-use`, `off`",
            ),
            (
                "[tls]\n\n[[tls.certificate]]\nchain = \"a\"",
                "3:1: [tls.certificate] needs the key `key`",
            ),
            ("[token]\nkey = 1", "2:7: this has to be a list"),
            ("[token]\ncookie = 1", "2:10: this has to be a string"),
            (
                "[[route]]\npath = \"/\"\npath = \"/\"",
                "3:1: duplicate key",
            ),
            ("[listen\n", "1:8: "),
        ] {
            let error = error(text);
            assert!(
                error.starts_with(&format!("gate.toml:{expected}")),
                "{error}"
            );
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_secret_in_the_wrong_place_is_not_repeated() {
        for text in [
            "[session]\npassword = \"canary\"",
            "[session]\nprefix = [\"canary\"]",
            "[session]\nremembered = \"canary\"",
            "[session]\npassword = { value = \"canary\" }",
            "[session]\npasswd = \"canary\"",
            "[[token.key]]\nalgorithm = \"HS512\"\nfrom = \"canary\"",
            "[tls]\nresumption = \"canary\"",
            "[session]\npassword = \"canary",
            "[session]\npassword = canary",
            "[session]\npassword = \"canary\" \"canary\"",
        ] {
            let error = error(text);
            assert!(!error.contains("canary"), "{error}");
        }
        let said = error("[session]\npassword = \"canary\"");
        assert!(said.contains("{ file = \"/path\" }"), "{said}");
        let both = error("[session]\npassword = { file = \"a\", env = \"B\" }");
        assert!(both.contains("only one of them"), "{both}");
    }

    #[test]
    fn files_are_text_of_a_sane_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate.toml");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Config::read(&path).map_err(|error| error.to_string())
        };
        assert_eq!(read(b""), Ok(Config::default()));
        let error = read(b"[listen]\n# \xff").unwrap_err();
        assert!(
            error.contains("gate.toml:2:3: this is not UTF-8"),
            "{error}"
        );
        let large = vec![b'#'; MAX_FILE_SIZE as usize + 1];
        assert!(read(&large).is_err());
        let none = Config::read(&folder.path().join("none"));
        assert!(matches!(none, Err(GateError::Unreadable { .. })));
    }
}
