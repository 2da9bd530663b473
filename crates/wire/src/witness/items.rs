//! Iterates over the items of a JSON object or array without parsing the whole into values. It ends
//! at the first incomplete item, because a log may be cut off anywhere.

use serde_json::{Map, Value};

/// The deepest nesting of values that are skipped: the parser would refuse deeper ones as well.
const MAX_DEPTH: u32 = 128;
/// The largest value in bytes that is parsed: one of small numbers takes sixteen times its text.
const MAX_VALUE: usize = 16 << 20;

/// The bytes of the members of an object, or of the elements of an array.
#[derive(Debug, Clone)]
pub(super) struct Items<'a> {
    rest: &'a [u8],
    is_object: bool,
    is_first: bool,
    /// Whether the list has its closing bracket.
    pub(super) is_whole: bool,
}

impl<'a> Items<'a> {
    pub(super) fn of_object(json: &'a [u8]) -> Option<Self> {
        Self::new(json, b'{')
    }

    pub(super) fn of_array(json: &'a [u8]) -> Option<Self> {
        Self::new(json, b'[')
    }

    fn new(json: &'a [u8], open: u8) -> Option<Self> {
        let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
        let rest = json.trim_ascii_start().strip_prefix(&[open])?;
        Some(Self {
            rest,
            is_object: open == b'{',
            is_first: true,
            is_whole: false,
        })
    }

    /// The value of a member; the rest after it has not been looked at.
    pub(super) fn member(json: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
        let mut members = Self::of_object(json)?;
        members
            .find(|(name, _)| *name == wanted.as_bytes())
            .map(|(_, value)| value)
    }
}

impl<'a> Iterator for Items<'a> {
    /// The name, empty in an array, and the value, which may be cut off at the end of the input.
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let mut rest = self.rest.trim_ascii_start();
        if !self.is_first
            && let Some(behind) = rest.strip_prefix(b",")
        {
            rest = behind.trim_ascii_start();
        }
        self.is_first = false;
        if let [b'}' | b']', behind @ ..] = rest {
            self.is_whole = true;
            self.rest = behind;
            return None;
        }
        let mut name: &[u8] = &[];
        if self.is_object {
            let length = value_length(rest)?;
            let (quoted, behind) = rest.split_at_checked(length)?;
            name = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
            rest = behind
                .trim_ascii_start()
                .strip_prefix(b":")?
                .trim_ascii_start();
        }
        if rest.is_empty() {
            self.rest = rest;
            return None;
        }
        let length = value_length(rest).unwrap_or(rest.len()).max(1);
        let (value, behind) = rest.split_at_checked(length)?;
        self.rest = behind;
        Some((name, value))
    }
}

/// A complete value.
pub(super) fn parse(bytes: &[u8]) -> Option<Value> {
    let bytes = Some(bytes).filter(|bytes| bytes.len() <= MAX_VALUE)?;
    serde_json::from_slice(bytes).ok()
}

/// A complete object without some of its members, nor of those of the objects in it.
pub(super) fn parse_without(bytes: &[u8], left_out: &[&str]) -> Option<Value> {
    parse_to(bytes, left_out, 0)
}

fn parse_to(bytes: &[u8], left_out: &[&str], depth: u32) -> Option<Value> {
    let members = Items::of_object(bytes).filter(|_| depth < MAX_DEPTH);
    let Some(mut members) = members else {
        return parse(bytes);
    };
    let mut kept = Map::new();
    for (name, value) in members.by_ref() {
        let name = std::str::from_utf8(name).ok()?;
        if !left_out.contains(&name) {
            kept.insert(name.to_owned(), parse_to(value, left_out, depth + 1)?);
        }
    }
    members.is_whole.then_some(Value::Object(kept))
}

/// The length of the value that begins here; `None` if it does not end.
fn value_length(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_u32;
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at + 1)?;
                if depth == 0 {
                    return Some(at);
                }
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return None;
                }
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'}' | b']' | b',' | b':' | b'\n' | b'\r' | b' ' | b'\t' if depth == 0 => {
                return Some(at);
            }
            _ => {}
        }
        at += 1;
    }
}

/// The position after the quote that ends the string.
fn string_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let found = memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        at += found;
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(items: Items<'_>) -> Vec<(String, String)> {
        let text = |bytes| std::str::from_utf8(bytes).unwrap().to_owned();
        items
            .map(|(name, value)| (text(name), text(value)))
            .collect()
    }

    #[test]
    fn items_are_found_without_being_parsed() {
        let json = br#" { "a" : [1, {"b": "]}\""}] , "c":"d,e", "f" : 12 }"#;
        let found = items(Items::of_object(json).unwrap());
        let expected = [
            ("a", r#"[1, {"b": "]}\""}]"#),
            ("c", "\"d,e\""),
            ("f", "12"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
        assert_eq!(Items::member(json, "f"), Some(&b"12"[..]));
        let mut elements = Items::of_array(b"[1, \"2\" ,[3],{}\n]").unwrap();
        assert_eq!(elements.by_ref().count(), 4);
        assert!(elements.is_whole);
    }

    #[test]
    fn members_that_are_not_needed_are_left_out_of_a_value() {
        let json = br#"{"a": {"text": [1, 2], "b": "c"}, "text": {"d": 1}, "e": [{"text": 3}]}"#;
        let expected = serde_json::json!({ "a": { "b": "c" }, "e": [{ "text": 3 }] });
        assert_eq!(parse_without(json, &["text"]), Some(expected));
        for end in 0..json.len() {
            assert_eq!(parse_without(&json[..end], &["text"]), None, "{end}");
        }
    }

    #[test]
    fn a_value_beyond_the_limit_is_not_parsed() {
        let long = format!("[{}0]", "0,".repeat(MAX_VALUE / 2));
        assert_eq!(parse(long.as_bytes()), None);
        let entry = format!("{{\"text\": {long}, \"a\": 1}}");
        let expected = serde_json::json!({ "a": 1 });
        assert_eq!(parse_without(entry.as_bytes(), &["text"]), Some(expected));
    }

    #[test]
    fn a_cut_in_any_place_hides_only_what_is_behind_it() {
        let json = br#"[{"a": 1}, {"a": [2, "]"]}, {"a": 3}]"#;
        let mut before = 0;
        for end in 1..json.len() {
            let mut elements = Items::of_array(&json[..end]).unwrap();
            let whole = elements
                .by_ref()
                .filter(|(_, value)| parse(value).is_some())
                .count();
            assert!(whole >= before && whole <= before + 1);
            assert!(!elements.is_whole);
            before = whole;
        }
        assert_eq!(before, 3);
    }
}
