//! Sections of the RFC and of other encoders are decoded; invalid ones are refused.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const ROOM: SectionBounds = SectionBounds {
    lines: 100,
    size: 64 << 10,
};

fn hex(text: &str) -> Vec<u8> {
    let text: Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
    let digits = |pair: &[u8]| String::from_utf8(pair.to_vec()).unwrap();
    text.chunks(2)
        .map(|pair| u8::from_str_radix(&digits(pair), 16).unwrap())
        .collect()
}

fn written(section: &[u8]) -> Vec<(String, String)> {
    let escaped = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let lines = read_section(section, ROOM).unwrap();
    let lines = lines.iter();
    lines
        .map(|line| (escaped(line.name()), escaped(line.value())))
        .collect()
}

fn owned(lines: &[(&str, &str)]) -> Vec<(String, String)> {
    let lines = lines.iter();
    lines
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn the_example_of_the_rfc_is_read() {
    // RFC 9204, B.1.
    let section = hex("0000 510b 2f69 6e64 6578 2e68 746d 6c");
    assert_eq!(written(&section), owned(&[(":path", "/index.html")]));
}

/// ls-qpack's output; aioquic and others use it.
#[test]
fn sections_of_another_encoder_are_read() {
    let section = hex(
        "0000d1d750871ae5f23a6ba0bf51062f783f793d315f508825b650c3cbb6b83fdd2cf2b1fc5584ee3a2d2f\
         5508613d623b20633dff",
    );
    let expected = [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "a.example"),
        (":path", "/x?y=1"),
        ("user-agent", "curl/8.5.0"),
        ("accept", "*/*"),
        ("x-own", "value"),
        ("cookie", "a=b; c=\\xff"),
    ];
    assert_eq!(written(&section), owned(&expected));
    let coded = "f7efdfbf7efdfb".repeat(25);
    let section = hex(&format!("0000c4ff2322010203000000 5dff30{coded}"));
    let long = "z".repeat(200);
    let expected = [
        ("content-length", "0"),
        ("x-frame-options", "sameorigin"),
        ("\\x01\\x02", "\\x00\\x00\\x00"),
        ("referer", long.as_str()),
    ];
    assert_eq!(written(&section), owned(&expected));
}

#[test]
fn a_status_is_written() {
    for status in [200, 404, 431] {
        let section = status_section(status);
        let expected = [(":status", &*status.to_string())];
        assert_eq!(written(&section), owned(&expected));
    }
}

#[test]
fn the_table_is_the_appendix_s() {
    assert_eq!(table::ENTRIES.len(), 99);
    for (index, line) in [
        (0, (":authority", "")),
        (1, (":path", "/")),
        (14, ("set-cookie", "")),
        (17, (":method", "GET")),
        (24, (":status", "103")),
        (28, (":status", "503")),
        (46, ("content-type", "application/json")),
        (63, (":status", "100")),
        (71, (":status", "500")),
        (72, ("accept-language", "")),
        (84, ("authorization", "")),
        (95, ("user-agent", "")),
        (98, ("x-frame-options", "sameorigin")),
    ] {
        assert_eq!(table::ENTRIES[index], line, "{index}");
    }
}

#[test]
fn errors_are_told_from_limits() {
    for bad in [
        "",
        "00",
        // A dynamic table is required; the base is negative.
        "0100",
        "0080",
        // Lines of a dynamic table, in four ways; an index that is too large.
        "000080",
        "00004000",
        "000010",
        "00000000",
        "0000ff24",
        "00005f54",
        // Truncated.
        "000051",
        "00005105",
        "000027",
        "0000ff",
        // Not a Huffman code; integers that are too large.
        "00005181fe",
        "0000ffffffffff7f",
        "000051ffffffffffff",
    ] {
        let section = hex(bad);
        let read = read_section(&section, ROOM);
        assert!(matches!(read, Err(SectionError::Encoding(_))), "{bad}");
    }
    let three = hex("0000 d1 d7 c1");
    let bounds = |lines, size| SectionBounds { lines, size };
    let size = 3 * 32 + 10 + 12 + 6;
    assert_eq!(read_section(&three, bounds(3, size)).unwrap().len(), 3);
    let read = |lines, size| read_section(&three, bounds(lines, size)).unwrap_err();
    assert_eq!(read(2, size), SectionError::TooManyLines);
    assert_eq!(read(3, size - 1), SectionError::TooLarge);
}

/// A literal string whose length has a prefix of `bits` bits.
fn literal(into: &mut Vec<u8>, flags: u8, bits: u32, text: &[u8]) {
    let most = (1 << bits) - 1;
    if text.len() < most {
        into.push(flags | text.len() as u8);
    } else {
        into.push(flags | most as u8);
        let mut rest = text.len() - most;
        while rest >= 128 {
            into.push(0x80 | (rest & 0x7f) as u8);
            rest >>= 7;
        }
        into.push(rest as u8);
    }
    into.extend_from_slice(text);
}

proptest! {
    #[test]
    fn literals_come_back(lines in vec((vec(any::<u8>(), 0..300), vec(any::<u8>(), 0..300)), 0..20)) {
        let mut section = vec![0, 0];
        for (name, value) in &lines {
            literal(&mut section, 0x20, 3, name);
            literal(&mut section, 0, 7, value);
        }
        let read = read_section(&section, ROOM).unwrap();
        let read: Vec<_> = read.iter().map(|l| (l.name().to_vec(), l.value().to_vec())).collect();
        prop_assert_eq!(read, lines);
    }

    #[test]
    fn any_bytes_are_read_within_bounds(bytes in vec(any::<u8>(), 0..200)) {
        let bounds = SectionBounds { lines: 4, size: 200 };
        let section = [&[0, 0], bytes.as_slice()].concat();
        if let Ok(lines) = read_section(&section, bounds) {
            prop_assert!(lines.len() <= 4);
            prop_assert!(lines.iter().map(FieldLine::size).sum::<usize>() <= 200);
        }
    }
}
