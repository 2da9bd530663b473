//! Parses bytes into nodes within bounds, and describes bytes that cannot be parsed.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::error::AnswerError;
use super::mending::{Numbers, mended, without_large_numbers};
use super::node::Node;
use super::number::Number;

/// Limits for one answer: its size, its depth of nesting and the number of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub bytes: usize,
    pub depth: usize,
    pub values: usize,
}

impl Default for Bounds {
    /// Far above what servers send: a page of a thousand domains has half a million values.
    fn default() -> Self {
        Self {
            bytes: 32 << 20,
            depth: 48,
            values: 1 << 20,
        }
    }
}

/// Parses the document in `bytes`, which must be an object. The rest of the document is unaffected
/// by bytes that are not UTF-8.
pub(super) fn read(bytes: &[u8], bounds: Bounds) -> Result<Node, AnswerError> {
    if bytes.len() > bounds.bytes {
        let (size, most) = (bytes.len(), bounds.bytes);
        return Err(AnswerError::TooLarge { size, most });
    }
    if is_utf16(bytes) {
        return Err(AnswerError::Utf16);
    }
    let first = bytes.iter().find(|b| !b.is_ascii_whitespace());
    match first {
        None => return Err(AnswerError::Empty),
        Some(b'<') => {
            return Err(AnswerError::Page {
                title: title(bytes),
            });
        }
        Some(_) => {}
    }
    let written = mended(bytes);
    let meter = Meter::new(bounds, &written);
    let text = without_large_numbers(&written);
    let mut json = serde_json::Deserializer::from_str(&text);
    let read = (&meter).deserialize(&mut json).and_then(|node| {
        json.end()?;
        Ok(node)
    });
    match read {
        Ok(node) if node.is_object() => Ok(node),
        Ok(other) => Err(AnswerError::NotAnObject {
            found: other.kind(),
        }),
        Err(source) => Err(meter.describe_failure(bytes, &text, source)),
    }
}

/// Whether the text begins with a byte order mark of UTF-16, or with two ASCII characters in it.
fn is_utf16(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0xff, 0xfe, ..]
            | [0xfe, 0xff, ..]
            | [1..=255, 0, 1..=255, 0, ..]
            | [0, 1..=255, 0, 1..=255, ..]
    )
}

/// Counts values and depth during parsing, and provides numbers as they were written.
struct Meter<'a> {
    bounds: Bounds,
    depth: Cell<usize>,
    values: Cell<usize>,
    /// The numbers that have not been parsed yet.
    numbers: RefCell<Numbers<'a>>,
    over: Cell<Option<Over>>,
}

#[derive(Clone, Copy)]
enum Over {
    Depth,
    Values,
}

impl<'a> Meter<'a> {
    fn new(bounds: Bounds, written: &'a str) -> Self {
        Self {
            bounds,
            depth: Cell::new(0),
            values: Cell::new(0),
            numbers: RefCell::new(Numbers::new(written)),
            over: Cell::new(None),
        }
    }

    fn count<E: serde::de::Error>(&self) -> Result<(), E> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > self.bounds.values {
            self.over.set(Some(Over::Values));
            return Err(E::custom("too many values"));
        }
        Ok(())
    }

    fn enter<E: serde::de::Error>(&self) -> Result<(), E> {
        self.depth.set(self.depth.get() + 1);
        if self.depth.get() > self.bounds.depth {
            self.over.set(Some(Over::Depth));
            return Err(E::custom("nested too deep"));
        }
        Ok(())
    }

    fn next_number(&self) -> Node {
        let mut numbers = self.numbers.borrow_mut();
        let place = numbers.next();
        let number = place.and_then(|place| Number::parse(numbers.text().get(place)?));
        number.map_or(Node::Null, Node::Number)
    }

    fn leave(&self) {
        self.depth.set(self.depth.get().saturating_sub(1));
    }

    /// Turns a failure to parse into the error that describes it.
    fn describe_failure(&self, bytes: &[u8], text: &str, source: serde_json::Error) -> AnswerError {
        let Bounds { depth, values, .. } = self.bounds;
        match self.over.get() {
            Some(Over::Depth) => AnswerError::TooDeep { most: depth },
            Some(Over::Values) => AnswerError::TooMany { most: values },
            None if source.is_eof() => AnswerError::Truncated {
                at: bytes.len(),
                source,
            },
            None => AnswerError::NotJson {
                at: received(
                    bytes,
                    place(text.as_bytes(), source.line(), source.column()),
                ),
                source,
            },
        }
    }
}

/// The offset of a line and column, which serde_json counts from 1.
fn place(bytes: &[u8], line: usize, column: usize) -> usize {
    let mut start = 0;
    for _ in 1..line {
        let rest = bytes.get(start..).unwrap_or_default();
        match rest.iter().position(|b| *b == b'\n') {
            Some(end) => start += end + 1,
            None => break,
        }
    }
    (start + column.saturating_sub(1)).min(bytes.len())
}

/// The offset in the bytes for an offset in the text that was read from them.
fn received(bytes: &[u8], at: usize) -> usize {
    let (mut from, mut to) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if at < to + valid {
            return from + (at - to);
        }
        (from, to) = (from + valid, to + valid);
        if at < to + char::REPLACEMENT_CHARACTER.len_utf8() {
            return from;
        }
        from += chunk.invalid().len();
        to += char::REPLACEMENT_CHARACTER.len_utf8();
    }
    bytes.len()
}

impl<'de> DeserializeSeed<'de> for &Meter<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        self.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Meter<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Flag(flag))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(self.next_number())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(self.next_number())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(self.next_number())
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.into()))
    }

    fn visit_string<E>(self, text: String) -> Result<Node, E> {
        Ok(Node::Text(text.into_boxed_str()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        self.enter()?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(self)? {
            items.push(item);
        }
        self.leave();
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        self.enter()?;
        let mut members = Vec::new();
        while let Some(name) = map.next_key::<Name>()? {
            members.push((name.0, map.next_value_seed(self)?));
        }
        self.leave();
        Ok(Node::Object(members))
    }
}

/// A member's name, stored in exactly as many bytes as it needs.
struct Name(Box<str>);

impl<'de> serde::Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<str>::deserialize(deserializer).map(Name)
    }
}

/// The text of a page's `title`, on one line and cut to a safe length.
fn title(bytes: &[u8]) -> Option<String> {
    const MAX_EXAMINED: usize = 64 << 10;
    const SHOWN: usize = 80;
    let head = String::from_utf8_lossy(bytes.get(..MAX_EXAMINED).unwrap_or(bytes));
    // Only ASCII letters change, so offsets stay the same.
    let low = head.to_ascii_lowercase();
    let tag = low.find("<title")?;
    let start = tag + low.get(tag..)?.find('>')? + 1;
    let end = start + low.get(start..)?.find("</title")?;
    let mut title = head.get(start..end)?.to_owned();
    for (entity, meant) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ] {
        title = title.replace(entity, meant);
    }
    let words: Vec<&str> = title.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(SHOWN).collect();
    (!line.is_empty()).then(|| roundtrip_report::clean(&line))
}

#[cfg(test)]
mod tests {
    use super::super::mending::lone_surrogates;
    use super::*;

    fn told(bytes: &[u8]) -> String {
        read(bytes, Bounds::default()).unwrap_err().to_string()
    }

    #[test]
    fn each_kind_of_failure_has_its_error() {
        assert_eq!(told(b" \r\n"), "the answer is empty");
        assert_eq!(
            told(b"<!DOCTYPE html><head><TITLE lang=en>\n 403 &amp; out\x1b</TITLE>"),
            "the answer is a web page ('403 & out\\u{1b}'), not RDAP"
        );
        for utf16 in [
            b"{\0\"\0a\0\"\0".as_slice(),
            b"\0{\0\"\0a",
            b"\xff\xfe{\0}\0",
            b"\xfe\xff\0{",
        ] {
            let utf16 = told(utf16);
            assert_eq!(utf16, "the answer is written in UTF-16, not in UTF-8");
        }
        assert_eq!(told(b"<html>"), "the answer is a web page, not RDAP");
        assert_eq!(
            told(b"{\"a\": [1, "),
            "the answer breaks off after 10 bytes, in the middle of its JSON"
        );
        assert_eq!(
            told(b"{\n\"a\": nope}"),
            "the answer is not JSON: byte 8 is invalid"
        );
        assert_eq!(told(b"{} {}"), "the answer is not JSON: byte 3 is invalid");
        assert_eq!(
            told(b"[1]"),
            "the answer is JSON, but an array instead of an object"
        );
    }

    #[test]
    fn only_the_invalid_byte_is_lost() {
        let bytes = b"{\"a\":\"M\xfcnchen\",\"\xff\":1,\"b\":[\"\xe4\xf6\"]}";
        let node = read(bytes, Bounds::default()).unwrap();
        assert_eq!(node.at("/a").unwrap().text(), Some("M\u{fffd}nchen"));
        assert_eq!(node.at("/b/0").unwrap().text(), Some("\u{fffd}\u{fffd}"));
        assert!(node.get("\u{fffd}").is_some());
        // A stray byte between tokens is skipped.
        let bytes = b"\xff{\"a\\\"\":\xfe1,\xff\"b\":\"\\\\\"}\n\xff\xff";
        let node = read(bytes, Bounds::default()).unwrap();
        assert!(node.get("a\"").is_some() && node.at("/b").unwrap().text() == Some("\\"));
        // The offset refers to the received bytes.
        assert_eq!(
            told(b"{\"a\":\xff}"),
            "the answer is not JSON: byte 6 is invalid"
        );
        let late = b"{\"a\":\"\xfc\xfc\",\"b\":nope}";
        assert_eq!(told(late), "the answer is not JSON: byte 15 is invalid");
    }

    #[test]
    fn only_half_a_surrogate_pair_is_lost() {
        let json = br#"{"a":"\ud83d\ude00","b":"cut \ud83d","c":"\ude00\ud83d\ud83d\ude00","\\ud800":"\\\uDFFF"}"#;
        let node = read(json, Bounds::default()).unwrap();
        let text = |pointer: &str| node.at(pointer).and_then(Node::text);
        assert_eq!(text("/a"), Some("\u{1f600}"));
        assert_eq!(text("/b"), Some("cut \u{fffd}"));
        assert_eq!(text("/c"), Some("\u{fffd}\u{fffd}\u{1f600}"));
        assert_eq!(text("/\\ud800"), Some("\\\u{fffd}"));
        let late = br#"{"a":"\ud800","b":nope}"#;
        assert_eq!(told(late), "the answer is not JSON: byte 19 is invalid");
        assert_eq!(lone_surrogates(r"\ud800\n\udc00\u+d80\ud80"), [0, 8]);
    }

    #[test]
    fn a_control_character_hides_nothing() {
        let json =
            b"{\n\t\"a\": \"one\ttwo\r\n\x00\", \"b\": \"\\\"\x1f\\\\\",\r\n \"c\": \"\\\n\"}";
        let broken = read(json, Bounds::default()).unwrap_err();
        assert!(broken.to_string().contains("not JSON"), "{broken}");
        let json = b"{\n\t\"a\": \"one\ttwo\r\n\x00\", \"b\": \"\\\"\x1f\\\\\"\r\n}";
        let node = read(json, Bounds::default()).unwrap();
        assert_eq!(node.at("/a").unwrap().text(), Some("one two   "));
        assert_eq!(node.at("/b").unwrap().text(), Some("\" \\"));
    }

    #[test]
    fn numbers_stay_as_they_were_written() {
        let json = r#"{"a\\":1e400,"\"1":[-1E+999,12345678901234567890123,1.50,-0,1e-400],"b":{"c":0,"d":true}}"#;
        let node = read(json.as_bytes(), Bounds::default()).unwrap();
        let mut again = String::new();
        node.write_json(&mut again);
        assert_eq!(again, json);
        let long = format!("{{\"a\":{},\"b\":nope}}", "9".repeat(400));
        assert_eq!(
            told(long.as_bytes()),
            "the answer is not JSON: byte 411 is invalid"
        );
        for bad in ["01", "1.", "1e", "--1", "1-1", "+1", ".5", "1e400e", "-"] {
            let json = format!("{{\"a\":{bad}}}");
            assert!(told(json.as_bytes()).contains("not JSON"), "{bad}");
        }
    }

    #[test]
    fn bounds_hold() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(60), "]".repeat(60));
        assert_eq!(
            told(deep.as_bytes()),
            "the answer is nested more than 48 levels deep"
        );
        let small = Bounds {
            bytes: 40,
            values: 5,
            ..Bounds::default()
        };
        let error = read(b"{\"a\":[1,2,3,4,5]}", small).unwrap_err();
        assert_eq!(error.to_string(), "the answer contains more than 5 values");
        let error = read(&[b' '; 41], small).unwrap_err();
        let told = "the answer has 41 bytes; at most 40 are read";
        assert_eq!(error.to_string(), told);
    }

    #[test]
    fn parsing_loses_nothing() {
        let json = r#"{"b":1,"a":"é\n","b":[null,-2,1.5,true],"":{}}"#;
        let node = read(json.as_bytes(), Bounds::default()).unwrap();
        let mut again = String::new();
        node.write_json(&mut again);
        assert_eq!(again, json);
        assert_eq!(node.get("b").unwrap().items().len(), 4);
        assert_eq!(node.at("/b/1").unwrap().kind(), "a number");
    }
}
