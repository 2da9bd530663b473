//! Header blocks: a strict decoder with its dynamic table, and an encoder without one. RFC 7541.

use crate::cursor::Cursor;
use crate::hpack::STATIC;
use crate::qpack::{
    DynamicTable, Section, SectionBounds, SectionBuilder, integer, string, write_integer,
    write_string,
};
use crate::static_index::{Found, StaticIndex};

static INDEX: StaticIndex<{ STATIC.len() }> = StaticIndex::new(&STATIC);

const WHAT: &str = "a header block";
/// The table's size in bytes: the default, because no other was announced. RFC 9113 §6.5.2.
const TABLE_CAPACITY: usize = 4096;

/// Decodes the blocks of one side, in the order in which they were sent.
#[derive(Debug)]
pub(super) struct Decoder {
    table: DynamicTable,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self {
            table: DynamicTable::with_capacity(TABLE_CAPACITY),
        }
    }

    /// The lines of a block; `None` if they exceed the bounds. After an error, further blocks
    /// cannot be decoded.
    pub(super) fn read(
        &mut self,
        block: &[u8],
        bounds: SectionBounds,
    ) -> crate::Result<Option<Section>> {
        let mut cursor = Cursor::new(WHAT, block);
        let mut section = SectionBuilder::new(bounds, block.len());
        let mut line = Vec::new();
        let mut may_resize = true;
        while !cursor.is_empty() {
            let first = cursor.u8()?;
            if first & 0xe0 == 0x20 {
                self.resize(&mut cursor, first, may_resize)?;
                continue;
            }
            may_resize = false;
            if first >= 0x80 {
                let index = integer(&mut cursor, first, 7)?;
                let (name, value) = self.entry(&cursor, index)?;
                section.push(name, value);
                continue;
            }
            let (bits, keeps) = if first >= 0x40 { (6, true) } else { (4, false) };
            line.clear();
            let index = integer(&mut cursor, first, bits)?;
            if index == 0 {
                let first = cursor.u8()?;
                string(&mut cursor, first, 7, &mut line)?;
            } else {
                line.extend_from_slice(self.entry(&cursor, index)?.0);
            }
            let end = line.len();
            let first = cursor.u8()?;
            string(&mut cursor, first, 7, &mut line)?;
            let (name, value) = line.split_at(end);
            section.push(name, value);
            if keeps {
                self.table.insert((name.to_vec(), value.to_vec()));
            }
        }
        Ok(section.finish())
    }

    /// RFC 7541 §4.2 and §6.3.
    fn resize(&mut self, cursor: &mut Cursor<'_>, first: u8, may: bool) -> crate::Result<()> {
        let capacity = integer(cursor, first, 5)?;
        if !may || capacity > TABLE_CAPACITY {
            return Err(cursor.malformed("its table may not have this size"));
        }
        self.table.set_capacity(capacity);
        Ok(())
    }

    /// RFC 7541 §2.3.3.
    fn entry(&self, cursor: &Cursor<'_>, index: usize) -> crate::Result<(&[u8], &[u8])> {
        let line = match index.checked_sub(1) {
            None => None,
            Some(index) => match STATIC.get(index) {
                Some((name, value)) => Some((name.as_bytes(), value.as_bytes())),
                None => {
                    let line = self.table.newest(index - STATIC.len());
                    line.map(|(name, value)| (name.as_slice(), value.as_slice()))
                }
            },
        };
        line.ok_or_else(|| cursor.malformed("its index is beyond the tables"))
    }
}

/// Tells the peer that no dynamic table is used. RFC 7541 §6.3.
pub(super) fn write_empty_table(out: &mut Vec<u8>) {
    write_integer(out, 0x20, 5, 0);
}

/// Appends a line to a block. The name is written in lower case. RFC 7541 §6.1 and §6.2.2.
pub fn write_line(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    match INDEX.find(&STATIC, name, value) {
        Found::Line(index) => return write_integer(out, 0x80, 7, index + 1),
        Found::Name(index) => write_integer(out, 0, 4, index + 1),
        Found::Nothing => {
            write_integer(out, 0, 4, 0);
            write_string(out, &name.to_ascii_lowercase());
        }
    }
    write_string(out, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::unhex_spaced;

    const BOUNDS: SectionBounds = SectionBounds {
        lines: 100,
        size: 10_000,
    };

    fn lines(section: &Section) -> Vec<String> {
        let lines = section.lines();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        lines
            .map(|(name, value)| format!("{}: {}", text(name), text(value)))
            .collect()
    }

    /// RFC 7541, appendix C.4: three requests on one connection, with Huffman's code.
    #[test]
    fn the_rfc_s_examples_are_read() {
        let mut decoder = Decoder::new();
        for (block, expected) in [
            ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", vec![]),
            (
                "8286 84be 5886 a8eb 1064 9cbf",
                vec!["cache-control: no-cache"],
            ),
            (
                "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
                vec!["custom-key: custom-value"],
            ),
        ] {
            let read = decoder.read(&unhex_spaced(block), BOUNDS).unwrap().unwrap();
            let read = lines(&read);
            assert!(read.contains(&":authority: www.example.com".to_owned()));
            assert_eq!(read[4..], expected);
        }
    }

    #[test]
    fn written_lines_are_read_back_and_leave_no_entry() {
        let written = [
            (":status", "200"),
            (":status", "207"),
            ("content-type", "text/plain"),
            ("X-New", "value"),
            ("x-empty", ""),
        ];
        let mut block = Vec::new();
        write_empty_table(&mut block);
        for (name, value) in written {
            write_line(&mut block, name.as_bytes(), value.as_bytes());
        }
        let mut decoder = Decoder::new();
        let read = decoder.read(&block, BOUNDS).unwrap().unwrap();
        let expected = written.map(|(name, value)| format!("{}: {value}", name.to_lowercase()));
        assert_eq!(lines(&read), expected);
        assert!(decoder.read(&[0xbe], BOUNDS).is_err());
    }

    #[test]
    fn blocks_that_break_a_rule_are_errors() {
        for (block, why) in [
            (&[0x80][..], "the index 0"),
            (&[0xbe], "an entry that does not exist"),
            (&[0x82, 0x20], "a new size after a line"),
            (&[0x3f, 0xe2, 0x1f], "a size above 4096"),
            (&[0x40, 0x01], "cut short"),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "a long integer"),
            (&[0x00, 0x81, 0x00, 0x00], "Huffman's code with a wrong end"),
        ] {
            assert!(Decoder::new().read(block, BOUNDS).is_err(), "{why}");
        }
    }

    /// The table must know the lines of a block that was too large.
    #[test]
    fn a_block_beyond_the_bounds_still_fills_the_table() {
        let bounds = SectionBounds { lines: 1, size: 99 };
        let mut decoder = Decoder::new();
        let block = [0x82, 0x40, 0x01, b'x', 0x01, b'y'];
        assert_eq!(decoder.read(&block, bounds).unwrap(), None);
        let read = decoder.read(&[0xbe], bounds).unwrap().unwrap();
        assert_eq!(lines(&read), ["x: y"]);
        let small = SectionBounds { lines: 9, size: 40 };
        let long = [[0x00, 0x01, b'x', 0x08].as_slice(), &[b'y'; 8]].concat();
        assert_eq!(decoder.read(&long, small).unwrap(), None);
    }
}
