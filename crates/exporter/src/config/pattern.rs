//! Regular expressions as blackbox_exporter's file has them: in the syntax of Go (RE2), translated
//! to that of the `regex` crate where the two differ.

use std::fmt;

use regex::{Captures, Regex, RegexBuilder};
use serde::{Deserialize, Deserializer, de};

/// The largest pattern, compiled, in bytes.
const MAX_PATTERN: usize = 10 * 1024 * 1024;
/// The largest count of a repetition in Go.
const MAX_REPEAT: u32 = 1000;

/// A regular expression, which matches anywhere.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    regex: Regex,
    text: String,
}

impl Pattern {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let translated = translate(text)?;
        let mut builder = RegexBuilder::new(&translated);
        let regex = builder.size_limit(MAX_PATTERN).build();
        let regex = regex.map_err(|error| last_line(&error.to_string()))?;
        Ok(Self {
            regex,
            text: text.to_owned(),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.regex.captures(text)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wrong =
            |why| de::Error::custom(format!("'{text}' is not a valid regular expression: {why}"));
        Self::parse(&text).map_err(wrong)
    }
}

/// The error itself, without the picture of its place.
fn last_line(error: &str) -> String {
    let line = error.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

struct Translation<'t> {
    rest: &'t str,
    out: String,
}

fn translate(text: &str) -> Result<String, String> {
    let mut translation = Translation {
        rest: text,
        out: String::new(),
    };
    // Whether the item before is a repetition, which Go does not let another one follow.
    let mut is_repeated = false;
    while let Some(c) = translation.next() {
        let repeats = match c {
            '\\' => translation.escape()?,
            '[' => translation.class()?,
            '(' => translation.group()?,
            '{' => translation.counted(is_repeated)?,
            '*' | '+' | '?' => {
                if is_repeated {
                    return Err("a repetition follows another".into());
                }
                translation.out.push(c);
                translation.lazy();
                true
            }
            other => {
                translation.out.push(other);
                false
            }
        };
        is_repeated = repeats;
    }
    Ok(translation.out)
}

impl Translation<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    /// Takes `prefix` off the remaining text, if that begins with it.
    fn takes(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn literal(&mut self, c: char) {
        self.out += &regex::escape(c.encode_utf8(&mut [0; 4]));
    }

    /// The `?` of a repetition that prefers few.
    fn lazy(&mut self) {
        if self.takes("?") {
            self.out.push('?');
        }
    }

    /// `{n}`, `{n,}` or `{n,m}`; any other `{` is the character. Returns whether it repeats.
    fn counted(&mut self, is_repeated: bool) -> Result<bool, String> {
        let Some((inside, rest)) = self.rest.split_once('}') else {
            self.out += "\\{";
            return Ok(false);
        };
        let (least, most) = match inside.split_once(',') {
            Some((least, most)) => (least, Some(most)),
            None => (inside, None),
        };
        let is_open = most == Some("");
        if !is_count(least) || most.is_some_and(|most| !is_open && !is_count(most)) {
            self.out += "\\{";
            return Ok(false);
        }
        let too_many = |count: &str| count.parse().map_or(true, |count: u32| count > MAX_REPEAT);
        if too_many(least) || most.is_some_and(|most| !is_open && too_many(most)) {
            return Err(format!("a repetition of more than {MAX_REPEAT}"));
        }
        if is_repeated {
            return Err("a repetition follows another".into());
        }
        self.out += &["{", inside, "}"].concat();
        self.rest = rest;
        self.lazy();
        Ok(true)
    }

    /// An escape outside a class. In Go, `\d`, `\s`, `\w` and `\b` mean ASCII.
    fn escape(&mut self) -> Result<bool, String> {
        let before = self.rest;
        let c = self.next().ok_or("it ends with a backslash")?;
        match c {
            'Q' => {
                let (quoted, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                self.out += &regex::escape(quoted);
                self.rest = rest;
            }
            'A' | 'z' => self.out.extend(['\\', c]),
            'b' => self.out += "(?-u:\\b)",
            'B' => self.out += "(?-u:\\B)",
            _ => {
                self.rest = before;
                match self.set()? {
                    Some(set) => self.out += &["[", &set, "]"].concat(),
                    None => {
                        let c = self.escaped()?;
                        self.literal(c);
                    }
                }
            }
        }
        Ok(false)
    }

    /// The characters of `\d`, `\pL` and the like, as they are written inside a class.
    fn set(&mut self) -> Result<Option<String>, String> {
        let set = match self.rest.chars().next() {
            Some('d') => "0-9",
            Some('D') => "[^0-9]",
            Some('s') => "\\t\\n\\x0C\\r ",
            Some('S') => "[^\\t\\n\\x0C\\r ]",
            Some('w') => "0-9A-Za-z_",
            Some('W') => "[^0-9A-Za-z_]",
            Some(c @ ('p' | 'P')) => {
                self.next();
                return self.property(c == 'P').map(Some);
            }
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(set.to_owned()))
    }

    fn property(&mut self, negated: bool) -> Result<String, String> {
        let name = if self.takes("{") {
            let (name, rest) = self.rest.split_once('}').ok_or("a property has no end")?;
            self.rest = rest;
            name.to_owned()
        } else {
            self.next().ok_or("a property has no name")?.to_string()
        };
        let (name, negated) = match name.strip_prefix('^') {
            Some(name) => (name, !negated),
            None => (name.as_str(), negated),
        };
        let letter = if negated { 'P' } else { 'p' };
        Ok(format!("\\{letter}{{{name}}}"))
    }

    /// One character after a backslash.
    fn escaped(&mut self) -> Result<char, String> {
        let c = self.next().ok_or("it ends with a backslash")?;
        let code = match c {
            'a' => 7,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            '0'..='7' => {
                let octal = |c: char| c.to_digit(8);
                let mut code = octal(c).unwrap_or_default();
                let digits = self.rest.chars().take(2).map_while(octal).count();
                // Go has no references to groups.
                if c != '0' && digits == 0 {
                    return Err(format!("'\\{c}' is not a valid escape"));
                }
                for _ in 0..digits {
                    code = code * 8 + self.next().and_then(octal).unwrap_or_default();
                }
                code
            }
            'x' => {
                let digits = if self.takes("{") {
                    let (digits, rest) = self.rest.split_once('}').ok_or("'\\x{' has no end")?;
                    self.rest = rest;
                    digits.to_owned()
                } else {
                    let digits: String = self.rest.chars().take(2).collect();
                    self.rest = self.rest.get(digits.len()..).unwrap_or_default();
                    digits
                };
                u32::from_str_radix(&digits, 16).map_err(|_| "'\\x' needs digits")?
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => c.into(),
            c => return Err(format!("'\\{c}' is not a valid escape")),
        };
        char::from_u32(code).ok_or_else(|| format!("{code:x} is not a character"))
    }

    /// A class in brackets. In Go, only `[:name:]` has a meaning inside, and `&&`, `--` and `~~`
    /// have none.
    fn class(&mut self) -> Result<bool, String> {
        const NO_END: &str = "a class has no end";
        self.out.push('[');
        if self.takes("^") {
            self.out.push('^');
        }
        let mut is_first = true;
        while is_first || !self.takes("]") {
            is_first = false;
            if self.rest.starts_with("[:") && self.rest.contains(":]") {
                let (name, rest) = self.rest.split_once(":]").ok_or(NO_END)?;
                self.out += &[name, ":]"].concat();
                self.rest = rest;
                continue;
            }
            if let Some(rest) = self.rest.strip_prefix('\\') {
                let before = std::mem::replace(&mut self.rest, rest);
                if let Some(set) = self.set()? {
                    self.out += &set;
                    continue;
                }
                self.rest = before;
            }
            let low = self.member()?;
            self.literal(low);
            let mut after = self.rest.chars();
            if after.next() == Some('-') && after.next().is_some_and(|c| c != ']') {
                self.next();
                let high = self.member()?;
                self.out.push('-');
                self.literal(high);
            }
        }
        self.out.push(']');
        Ok(false)
    }

    /// One character of a class.
    fn member(&mut self) -> Result<char, String> {
        match self.next().ok_or("a class has no end")? {
            '\\' => self.escaped(),
            c => Ok(c),
        }
    }

    /// The beginning of a group: Go has the flags `imsU`, and names.
    fn group(&mut self) -> Result<bool, String> {
        self.out.push('(');
        if self.rest.starts_with("?P<") || self.rest.starts_with("?<") {
            return Ok(false);
        }
        if self.takes("?") {
            self.out.push('?');
            let end = self.rest.find([':', ')']).ok_or("a group has no end")?;
            let (flags, rest) = self.rest.split_at(end);
            if !flags.chars().all(|flag| "imsU-".contains(flag)) {
                return Err(format!("'(?{flags}' is not valid"));
            }
            self.out += flags;
            self.rest = rest;
        }
        Ok(false)
    }
}

/// A count has no needless zeros.
fn is_count(text: &str) -> bool {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits && (text.len() == 1 || !text.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected results are those of Go's `regexp`.
    #[test]
    fn patterns_mean_what_they_mean_to_go() {
        for (pattern, matched, missed) in [
            (r#"{"status":"UP"}"#, r#"{"status":"UP"}"#, "status"),
            (r#""a": {"b""#, r#""a": {"b": 1"#, r#""a": "b""#),
            ("x{,5}", "x{,5}", "xxx"),
            ("a{1,b}{}", "a{1,b}{}", "a"),
            ("a{02}", "a{02}", "aa"),
            ("^a{2,3}$", "aaa", "a{2,3}"),
            (r"\<title\>", "<title>", "title"),
            (r"\Qa.b\E+c", "a.bbc", "axbc"),
            (r"\101\x42\x{43}", "ABC", "abc"),
            (r"^[[a]$", "[", "b"),
            (r"^[]a]+$", "]a", "b"),
            (r"^[^]a]$", "b", "]"),
            (r"^[a&&b]$", "&", "c"),
            (r"^[a~~b]$", "~", "c"),
            (r"^[[:alpha:][]+$", "a[", "1"),
            (r"^[\d\-x]+$", "1-x", "a"),
            (r"^[a-c-]+$", "b-", "d"),
            (r"^\d$", "5", "٥"),
            (r"^\w\W\s\S$", "a- b", "ä- b"),
            (r"^[\D]$", "٥", "5"),
            (r"\bb\b", "éb", "ab"),
            (r"^\p{Greek}\PL$", "α1", "a1"),
            (r"^\p{^Greek}$", "a", "α"),
            ("^+OK", "+OK", "no"),
            ("(?i)ok|(?s:a.b)", "OK", "ab"),
            (r"\_\!\@\#\ ", "_!@# ", "_"),
            ("(?P<n>a)(?:b)c??", "ab", "b"),
            (r"\Aa\z", "a", "ab"),
            ("", "anything", ""),
        ] {
            let parsed = Pattern::parse(pattern);
            let parsed = parsed.unwrap_or_else(|error| panic!("{pattern}: {error}"));
            // `^+OK` repeats the beginning, which any text has.
            let is_plus = pattern == "^+OK";
            assert!(parsed.is_match(matched) || is_plus, "{pattern} {matched}");
            assert!(
                missed.is_empty() || !parsed.is_match(missed),
                "{pattern} {missed}"
            );
            assert_eq!(parsed.to_string(), pattern);
        }
        for wrong in [
            "a**",
            "a{2}*",
            "a{1001}",
            "(?x)a",
            "(?=a)",
            r"\Z",
            r"\é",
            r"\u0041",
            r"\1",
            "a)",
            "(",
            ":[",
            "[b-a]",
            "[a--b]",
            "[",
            r"\",
            "*",
            r"\p{Nothing}",
            r"[\d",
            "(?P<n",
            r"\x{110000}",
        ] {
            assert!(Pattern::parse(wrong).is_err(), "{wrong}");
        }
    }
}
