//! Field sections of HTTP/3 without a dynamic table, in both directions: the reader must have told
//! its peer that it has none. `dynamic` has both sides' tables for a passive reader. RFC 9204.

mod dynamic;
mod encoder;
mod huffman;
mod table;

use crate::Error;
use crate::cursor::Cursor;
use crate::message::Pair;
pub(crate) use dynamic::{DynamicTable, Line, QpackTable, SectionProblem, value};
pub use encoder::{begin_section, write_line};
pub(crate) use encoder::{integer as write_integer, value as write_string};

const WHAT: &str = "a field section";
/// The number of bytes that each line counts in addition to its name and value. RFC 9114 §4.2.2.
pub(crate) const LINE_OVERHEAD: usize = 32;

/// The factor by which most sections grow when they are decoded, for an estimate.
const EXPANSION: usize = 4;
/// Most requests have fewer lines.
const USUAL_LINES: usize = 16;

/// The limits of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionBounds {
    pub lines: usize,
    /// The size in bytes, counted as in RFC 9114 §4.2.2: 32 for each line, in addition to its name
    /// and value.
    pub size: usize,
}

/// The decoded lines of a section, in order, without any checks. All of them share one allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    text: Vec<u8>,
    /// Where the name and the value of each line end in `text`.
    ends: Vec<(usize, usize)>,
}

/// Why a section could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    /// QPACK_DECOMPRESSION_FAILED. RFC 9204 §6.
    #[error(transparent)]
    Encoding(#[from] Error),
    #[error("too many field lines")]
    TooManyLines,
    #[error("a field section that is too large")]
    TooLarge,
}

impl Section {
    /// The number of lines.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Names and values, in order.
    pub fn lines(&self) -> impl Iterator<Item = Pair<'_>> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
        starts.zip(&self.ends).map(|(start, (name, value))| {
            let part = |from, to| self.text.get(from..to).unwrap_or_default();
            (part(start, *name), part(*name, *value))
        })
    }
}

/// Collects the lines of a section within its bounds.
pub(crate) struct SectionBuilder {
    section: Section,
    bounds: SectionBounds,
    left: Option<usize>,
}

impl SectionBuilder {
    /// Makes a builder for a section of `encoded` bytes.
    pub(crate) fn new(bounds: SectionBounds, encoded: usize) -> Self {
        let mut section = Section::default();
        let room = encoded.saturating_mul(EXPANSION).min(bounds.size);
        section.text.reserve(room);
        section.ends.reserve(USUAL_LINES.min(bounds.lines));
        Self {
            section,
            bounds,
            left: Some(bounds.size),
        }
    }

    pub(crate) fn push(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + LINE_OVERHEAD;
        let fits = self.section.len() < self.bounds.lines;
        self.left = self
            .left
            .filter(|_| fits)
            .and_then(|left| left.checked_sub(size));
        if self.left.is_some() {
            let Section { text, ends } = &mut self.section;
            text.extend_from_slice(name);
            let end = text.len();
            text.extend_from_slice(value);
            ends.push((end, text.len()));
        }
    }

    /// Returns the section; `None` if there were more lines than the bounds allow, or larger ones.
    pub(crate) fn finish(self) -> Option<Section> {
        self.left.map(|_| self.section)
    }
}

/// All lines of a section, in order. A reference to a dynamic table is an error.
pub fn read_section(bytes: &[u8], bounds: SectionBounds) -> Result<Section, SectionError> {
    let mut cursor = Cursor::new(WHAT, bytes);
    prefix(&mut cursor)?;
    let mut section = Section::default();
    let room = bytes.len().saturating_mul(EXPANSION).min(bounds.size);
    section.text.reserve(room);
    section.ends.reserve(USUAL_LINES.min(bounds.lines));
    let mut left = bounds.size;
    while !cursor.is_empty() {
        if section.len() == bounds.lines {
            return Err(SectionError::TooManyLines);
        }
        let start = section.text.len();
        let name = line(&mut cursor, &mut section.text)?;
        let end = section.text.len();
        left = left
            .checked_sub(end - start + LINE_OVERHEAD)
            .ok_or(SectionError::TooLarge)?;
        section.ends.push((name, end));
    }
    Ok(section)
}

/// Required Insert Count and Base. RFC 9204 §4.5.1.
fn prefix(cursor: &mut Cursor<'_>) -> crate::Result<()> {
    let first = cursor.u8()?;
    if integer(cursor, first, 8)? != 0 {
        return Err(cursor.malformed("it refers to a dynamic table that does not exist"));
    }
    let first = cursor.u8()?;
    integer(cursor, first, 7)?;
    if first & 0x80 != 0 {
        return Err(cursor.malformed("its base is negative"));
    }
    Ok(())
}

/// Appends a line's name and value to `text`, and returns where the name ends. RFC 9204 §4.5.2 to
/// §4.5.6.
fn line(cursor: &mut Cursor<'_>, text: &mut Vec<u8>) -> crate::Result<usize> {
    let first = cursor.u8()?;
    match first {
        0xc0.. => {
            let (name, value) = entry(cursor, first, 6)?;
            text.extend_from_slice(name.as_bytes());
            let end = text.len();
            text.extend_from_slice(value.as_bytes());
            Ok(end)
        }
        0x50..=0x5f | 0x70..=0x7f => {
            let (name, _) = entry(cursor, first, 4)?;
            text.extend_from_slice(name.as_bytes());
            append_value(cursor, text)
        }
        0x20..=0x3f => {
            string(cursor, first, 3, text)?;
            append_value(cursor, text)
        }
        _ => Err(cursor.malformed("it refers to a dynamic table that does not exist")),
    }
}

/// A line of the static table.
fn entry(
    cursor: &mut Cursor<'_>,
    first: u8,
    bits: u32,
) -> crate::Result<(&'static str, &'static str)> {
    let index = integer(cursor, first, bits)?;
    let entry = table::ENTRIES.get(index);
    entry
        .copied()
        .ok_or_else(|| cursor.malformed("its index is beyond the static table"))
}

/// Appends a value, and returns where it begins.
fn append_value(cursor: &mut Cursor<'_>, text: &mut Vec<u8>) -> crate::Result<usize> {
    let start = text.len();
    let first = cursor.u8()?;
    string(cursor, first, 7, text)?;
    Ok(start)
}

/// A string whose length begins with the low `bits` of its first byte; the bit above them says
/// whether it is Huffman-coded. RFC 9204 §4.1.2.
pub(crate) fn string(
    cursor: &mut Cursor<'_>,
    first: u8,
    bits: u32,
    text: &mut Vec<u8>,
) -> crate::Result<()> {
    let length = integer(cursor, first, bits)?;
    let bytes = cursor.take(length)?;
    if first >> bits & 1 == 0 {
        text.extend_from_slice(bytes);
        return Ok(());
    }
    huffman::decode(bytes, text)
        .ok_or_else(|| cursor.malformed("a string is not valid Huffman code"))
}

/// An integer that begins in the low bits of a byte. RFC 7541 §5.1.
pub(crate) fn integer(cursor: &mut Cursor<'_>, first: u8, bits: u32) -> crate::Result<usize> {
    let most = 0xff_u8 >> (8 - bits);
    let mut value = usize::from(first & most);
    if first & most != most {
        return Ok(value);
    }
    // Four more bytes are enough for lengths of 256 MiB.
    for shift in [0, 7, 14, 21] {
        let byte = cursor.u8()?;
        value += usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(cursor.malformed("an integer is too large"))
}

#[cfg(test)]
mod tests;
