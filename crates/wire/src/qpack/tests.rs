//! Sections of the RFC and of other encoders are decoded; invalid ones are refused.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::static_index::Found;
use crate::text::unhex_spaced;

const ROOM: SectionBounds = SectionBounds {
    lines: 100,
    size: 64 << 10,
};

fn written(section: &[u8]) -> Vec<(String, String)> {
    let escaped = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let section = read_section(section, ROOM).unwrap();
    let lines = section.lines();
    lines
        .map(|(name, value)| (escaped(name), escaped(value)))
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
    let section = unhex_spaced("0000 510b 2f69 6e64 6578 2e68 746d 6c");
    assert_eq!(written(&section), owned(&[(":path", "/index.html")]));
}

/// The output of ls-qpack, which other programs use.
#[test]
fn sections_of_another_encoder_are_read() {
    let section = unhex_spaced(
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
    let section = unhex_spaced(&format!("0000c4ff2322010203000000 5dff30{coded}"));
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
fn lines_are_written_as_short_as_the_table_and_huffman_make_them() {
    for (name, value, expected) in [
        (":status", "200", "d9"),
        (":Method", "GET", "d1"),
        ("X-Frame-Options", "sameorigin", "ff23"),
        (":status", "431", "5f09 03 343331"),
        ("content-length", "0", "c4"),
        ("content-length", "17", "54 02 3137"),
        (":path", "/index.html", "51 88 60d5485f2bce9a68"),
        (
            "Date",
            "Mon, 21 Oct 2013 20:13:21 GMT",
            "56 96 d07abe941054d444a8200595040b8166e082a62d1bff",
        ),
        ("X-Own", "", "25 782d6f776e 00"),
        (
            "a-name-of-16-let",
            "|||",
            "27 09 612d6e616d652d6f662d31362d6c6574 03 7c7c7c",
        ),
    ] {
        let mut out = Vec::new();
        write_line(&mut out, name.as_bytes(), value.as_bytes());
        assert_eq!(out, unhex_spaced(expected), "{name}: {value}");
    }
}

#[test]
fn each_line_of_the_table_is_found() {
    for (index, (name, value)) in table::ENTRIES.iter().enumerate() {
        let line = table::find(name.as_bytes(), value.as_bytes());
        assert_eq!(line, Found::Line(index));
        let found = table::find(name.as_bytes(), b"\0");
        let Found::Name(same) = found else {
            panic!("{name}: {found:?}");
        };
        assert_eq!(table::ENTRIES[same].0, *name);
    }
    for name in [
        "",
        "x",
        "agf",
        "access-control-allow-credentialt",
        &"x".repeat(100),
    ] {
        assert_eq!(table::find(name.as_bytes(), b"0"), Found::Nothing);
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
        let section = unhex_spaced(bad);
        let read = read_section(&section, ROOM);
        assert!(matches!(read, Err(SectionError::Encoding(_))), "{bad}");
    }
    let three = unhex_spaced("0000 d1 d7 c1");
    let bounds = |lines, size| SectionBounds { lines, size };
    let size = 3 * 32 + 10 + 12 + 6;
    assert_eq!(read_section(&three, bounds(3, size)).unwrap().len(), 3);
    let read = |lines, size| read_section(&three, bounds(lines, size)).unwrap_err();
    assert_eq!(read(2, size), SectionError::TooManyLines);
    assert_eq!(read(3, size - 1), SectionError::TooLarge);
}

proptest! {
    #[test]
    fn written_fields_are_read_unchanged(lines in vec((vec(any::<u8>(), 0..300), vec(any::<u8>(), 0..300)), 0..20)) {
        let mut section = Vec::new();
        begin_section(&mut section);
        for (name, value) in &lines {
            write_line(&mut section, name, value);
        }
        let read = read_section(&section, ROOM).unwrap();
        let read: Vec<_> = read.lines().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
        let lower = |(name, value): &(Vec<u8>, Vec<u8>)| (name.to_ascii_lowercase(), value.clone());
        prop_assert_eq!(read, lines.iter().map(lower).collect::<Vec<_>>());
    }

    #[test]
    fn any_bytes_are_read_within_bounds(bytes in vec(any::<u8>(), 0..200)) {
        let bounds = SectionBounds { lines: 4, size: 200 };
        let section = [&[0, 0], bytes.as_slice()].concat();
        if let Ok(section) = read_section(&section, bounds) {
            prop_assert!(section.len() <= 4);
            let size = section.lines().map(|(name, value)| name.len() + value.len() + 32);
            prop_assert!(size.sum::<usize>() <= 200);
        }
    }
}
