//! Field sections of HTTP/3 without a dynamic table: the reader must have told its peer that it has
//! none. RFC 9204.

mod huffman;
mod table;

use std::borrow::Cow;

use crate::Error;
use crate::cursor::Cursor;

const WHAT: &str = "a field section";
/// In bytes: what a line counts in addition to its name and value. RFC 9114 §4.2.2.
const LINE_OVERHEAD: usize = 32;

/// The limits of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionBounds {
    pub lines: usize,
    /// In bytes, as RFC 9114 §4.2.2 counts it: 32 for each line, in addition to its name and value.
    pub size: usize,
}

/// A name and a value as they were sent, without any checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldLine<'a> {
    name: Cow<'a, [u8]>,
    value: Cow<'a, [u8]>,
}

/// Why a section could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    /// QPACK_DECOMPRESSION_FAILED. RFC 9204 §6.
    #[error(transparent)]
    Encoding(#[from] Error),
    #[error("more field lines than may be")]
    TooManyLines,
    #[error("a field section that is larger than may be")]
    TooLarge,
}

impl FieldLine<'_> {
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    pub fn value(&self) -> &[u8] {
        &self.value
    }

    fn size(&self) -> usize {
        self.name.len() + self.value.len() + LINE_OVERHEAD
    }
}

/// All lines of a section, in order. A reference to a dynamic table is an error.
pub fn read_section(
    bytes: &[u8],
    bounds: SectionBounds,
) -> Result<Vec<FieldLine<'_>>, SectionError> {
    let mut cursor = Cursor::new(WHAT, bytes);
    prefix(&mut cursor)?;
    let (mut lines, mut left) = (Vec::new(), bounds.size);
    while !cursor.is_empty() {
        if lines.len() == bounds.lines {
            return Err(SectionError::TooManyLines);
        }
        let line = line(&mut cursor)?;
        left = left
            .checked_sub(line.size())
            .ok_or(SectionError::TooLarge)?;
        lines.push(line);
    }
    Ok(lines)
}

/// The section of a response that has a status of three digits and no other field.
pub fn status_section(status: u16) -> Vec<u8> {
    // The name `:status` of the static table: RFC 9204 §4.5.4.
    let mut section = vec![0, 0, 0x5f, 9, 3];
    section.extend_from_slice(format!("{:03}", status % 1000).as_bytes());
    section
}

/// Required Insert Count and Base. RFC 9204 §4.5.1.
fn prefix(cursor: &mut Cursor<'_>) -> crate::Result<()> {
    let first = cursor.u8()?;
    if integer(cursor, first, 8)? != 0 {
        return Err(cursor.malformed("it refers to a dynamic table that is not there"));
    }
    let first = cursor.u8()?;
    integer(cursor, first, 7)?;
    if first & 0x80 != 0 {
        return Err(cursor.malformed("its base is negative"));
    }
    Ok(())
}

/// RFC 9204 §4.5.2 to §4.5.6.
fn line<'a>(cursor: &mut Cursor<'a>) -> crate::Result<FieldLine<'a>> {
    let first = cursor.u8()?;
    match first {
        0xc0.. => {
            let (name, value) = entry(cursor, first, 6)?;
            let value = Cow::Borrowed(value.as_bytes());
            Ok(FieldLine { name, value })
        }
        0x50..=0x5f | 0x70..=0x7f => {
            let (name, _) = entry(cursor, first, 4)?;
            let value = text(cursor)?;
            Ok(FieldLine { name, value })
        }
        0x20..=0x3f => {
            let name = text_of(cursor, first, 3)?;
            let value = text(cursor)?;
            Ok(FieldLine { name, value })
        }
        _ => Err(cursor.malformed("it refers to a dynamic table that is not there")),
    }
}

/// A line of the static table.
fn entry(
    cursor: &mut Cursor<'_>,
    first: u8,
    bits: u32,
) -> crate::Result<(Cow<'static, [u8]>, &'static str)> {
    let index = integer(cursor, first, bits)?;
    let entry = table::ENTRIES.get(index);
    let (name, value) = entry.ok_or_else(|| cursor.malformed("the static table ends before"))?;
    Ok((Cow::Borrowed(name.as_bytes()), value))
}

fn text<'a>(cursor: &mut Cursor<'a>) -> crate::Result<Cow<'a, [u8]>> {
    let first = cursor.u8()?;
    text_of(cursor, first, 7)
}

/// A string whose length begins with the low `bits` of its first byte; the bit above them says
/// whether it is Huffman-coded. RFC 9204 §4.1.2.
fn text_of<'a>(cursor: &mut Cursor<'a>, first: u8, bits: u32) -> crate::Result<Cow<'a, [u8]>> {
    let length = integer(cursor, first, bits)?;
    let bytes = cursor.take(length)?;
    if first >> bits & 1 == 0 {
        return Ok(Cow::Borrowed(bytes));
    }
    let decoded = huffman::decode(bytes);
    let decoded = decoded.ok_or_else(|| cursor.malformed("a string is not Huffman's code"))?;
    Ok(Cow::Owned(decoded))
}

/// An integer that begins in the low bits of a byte. RFC 7541 §5.1.
fn integer(cursor: &mut Cursor<'_>, first: u8, bits: u32) -> crate::Result<usize> {
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
