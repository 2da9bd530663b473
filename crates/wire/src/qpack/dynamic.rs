//! The dynamic tables of HPACK and QPACK, for a passive reader: entries from before the capture
//! began are unknown, and stay so. RFC 7541 §2.3.2 and §4, RFC 9204 §3.2.

use std::collections::VecDeque;

use super::{LINE_OVERHEAD, WHAT, integer, string, table};
use crate::cursor::Cursor;
use crate::{Error, Result};

/// The largest table in bytes: a hundred times the size that clients and servers use.
const MAX_CAPACITY: usize = 1 << 20;
/// The largest sum of all lines of a section, in bytes.
const MAX_SECTION: usize = 1 << 20;

/// A name and a value. An empty name means unknown.
pub(crate) type Line = (Vec<u8>, Vec<u8>);

/// The entries, newest first.
#[derive(Debug, Default)]
pub(crate) struct DynamicTable {
    entries: VecDeque<Line>,
    size: usize,
    capacity: usize,
    /// The number of entries inserted so far.
    inserted: u64,
}

/// A table of QPACK, fed by the encoder's stream.
#[derive(Debug, Default)]
pub(crate) struct QpackTable {
    table: DynamicTable,
    /// An incomplete instruction.
    held: Vec<u8>,
}

/// Why a section cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SectionProblem {
    /// The section needs entries that have not arrived yet.
    Early,
    Damaged,
}

impl DynamicTable {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            capacity,
            ..Self::default()
        }
    }

    /// The entry after which this many were inserted.
    pub(crate) fn newest(&self, age: usize) -> Option<&Line> {
        self.entries.get(age)
    }

    /// The entry before which this many were inserted.
    fn absolute(&self, index: u64) -> Option<&Line> {
        let age = self.inserted.checked_sub(index)?.checked_sub(1)?;
        self.entries.get(usize::try_from(age).ok()?)
    }

    pub(crate) fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity.min(MAX_CAPACITY);
        self.evict();
    }

    pub(crate) fn insert(&mut self, line: Line) {
        self.inserted += 1;
        self.size += size(&line);
        self.entries.push_front(line);
        self.evict();
    }

    /// Marks all entries so far as unknown.
    pub(crate) fn forget(&mut self) {
        self.entries.clear();
        self.size = 0;
    }

    /// Roughly the number of bytes that the table holds.
    pub(crate) fn held(&self) -> usize {
        self.size + self.entries.capacity() * size_of::<Line>()
    }

    fn evict(&mut self) {
        while self.size > self.capacity
            && let Some(oldest) = self.entries.pop_back()
        {
            self.size -= size(&oldest);
        }
    }
}

/// RFC 7541 §4.1.
fn size((name, value): &Line) -> usize {
    name.len() + value.len() + LINE_OVERHEAD
}

impl QpackTable {
    /// Takes the next bytes of the encoder's stream, after its type. False if they are invalid.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        self.held.extend_from_slice(bytes);
        let mut held = std::mem::take(&mut self.held);
        let mut cursor = Cursor::new(WHAT, &held);
        while !cursor.is_empty() {
            let start = cursor.position();
            match self.instruct(&mut cursor) {
                Ok(()) => {}
                Err(Error::CutShort { .. }) if held.len() - start <= MAX_CAPACITY => {
                    held.drain(..start);
                    self.held = held;
                    return true;
                }
                Err(_) => return false,
            }
        }
        true
    }

    /// Roughly the number of bytes that the stream and its table hold.
    pub(crate) fn held(&self) -> usize {
        self.table.held() + self.held.capacity()
    }

    /// The number of entries that have been received so far.
    pub(crate) fn inserted(&self) -> u64 {
        self.table.inserted
    }

    /// The table's capacity in bytes, as the encoder set it.
    pub(crate) fn capacity(&self) -> u64 {
        self.table.capacity as u64
    }

    /// RFC 9204 §4.3.
    fn instruct(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let first = cursor.u8()?;
        match first {
            0x80.. => {
                let index = integer(cursor, first, 6)?;
                let name = match first & 0x40 {
                    0 => self.table.newest(index).map(|(name, _)| name.clone()),
                    _ => Some(static_line(cursor, index)?.0),
                };
                let value = value(cursor)?;
                self.table.insert((name.unwrap_or_default(), value));
            }
            0x40.. => {
                let mut name = Vec::new();
                string(cursor, first, 5, &mut name)?;
                let value = value(cursor)?;
                self.table.insert((name, value));
            }
            0x20.. => {
                let capacity = integer(cursor, first, 5)?;
                self.table.set_capacity(capacity);
            }
            _ => {
                let index = integer(cursor, first, 5)?;
                let line = self.table.newest(index).cloned();
                self.table.insert(line.unwrap_or_default());
            }
        }
        Ok(())
    }

    /// Decodes a section. `max_capacity` is the limit in its reader's settings. Entries that have
    /// not arrived are unknown unless they are `awaited`.
    pub(crate) fn read(
        &self,
        section: &[u8],
        max_capacity: u64,
        awaited: bool,
    ) -> std::result::Result<Vec<Line>, SectionProblem> {
        let mut cursor = Cursor::new(WHAT, section);
        let damaged = |_| SectionProblem::Damaged;
        let (required, base) = self.prefix(&mut cursor, max_capacity).map_err(damaged)?;
        if awaited && required > self.table.inserted {
            return Err(SectionProblem::Early);
        }
        let mut lines = Vec::new();
        let mut room = MAX_SECTION;
        while !cursor.is_empty() {
            let line = self.line(&mut cursor, base).map_err(damaged)?;
            room = room
                .checked_sub(size(&line))
                .ok_or(SectionProblem::Damaged)?;
            lines.push(line);
        }
        Ok(lines)
    }

    /// RFC 9204 §4.5.1.
    fn prefix(&self, cursor: &mut Cursor<'_>, max_capacity: u64) -> Result<(u64, u64)> {
        let first = cursor.u8()?;
        let encoded = integer(cursor, first, 8)? as u64;
        let first = cursor.u8()?;
        let delta = integer(cursor, first, 7)? as u64;
        if encoded == 0 {
            return Ok((0, delta));
        }
        let entries = max_capacity / LINE_OVERHEAD as u64;
        let range = entries.saturating_mul(2);
        if encoded > range {
            return Err(cursor.malformed("it refers to more than its table can hold"));
        }
        let most = self.table.inserted.saturating_add(entries);
        let mut required = most / range * range + encoded - 1;
        if required > most {
            required = required.saturating_sub(range);
        }
        let base = match first & 0x80 {
            0 => required.saturating_add(delta),
            _ => required.saturating_sub(delta).saturating_sub(1),
        };
        Ok((required, base))
    }

    /// RFC 9204 §4.5.2 to §4.5.6.
    fn line(&self, cursor: &mut Cursor<'_>, base: u64) -> Result<Line> {
        let first = cursor.u8()?;
        let relative = |index: usize| base.checked_sub(index as u64)?.checked_sub(1);
        let entry = |index: Option<u64>| index.and_then(|index| self.table.absolute(index));
        let behind = |index: usize| base.checked_add(index as u64);
        let line = match first {
            0xc0.. => {
                let index = integer(cursor, first, 6)?;
                static_line(cursor, index)?
            }
            0x80.. => {
                let index = relative(integer(cursor, first, 6)?);
                entry(index).cloned().unwrap_or_default()
            }
            0x50..=0x5f | 0x70..=0x7f => {
                let index = integer(cursor, first, 4)?;
                (static_line(cursor, index)?.0, value(cursor)?)
            }
            0x40.. => {
                let index = relative(integer(cursor, first, 4)?);
                let name = entry(index).map(|(name, _)| name.clone());
                (name.unwrap_or_default(), value(cursor)?)
            }
            0x20.. => {
                let mut name = Vec::new();
                string(cursor, first, 3, &mut name)?;
                (name, value(cursor)?)
            }
            0x10.. => {
                let index = behind(integer(cursor, first, 4)?);
                entry(index).cloned().unwrap_or_default()
            }
            _ => {
                let index = behind(integer(cursor, first, 3)?);
                let name = entry(index).map(|(name, _)| name.clone());
                (name.unwrap_or_default(), value(cursor)?)
            }
        };
        Ok(line)
    }
}

fn static_line(cursor: &Cursor<'_>, index: usize) -> Result<Line> {
    let (name, value) = table::ENTRIES
        .get(index)
        .ok_or_else(|| cursor.malformed("its index is beyond the static table"))?;
    Ok((name.as_bytes().to_vec(), value.as_bytes().to_vec()))
}

pub(crate) fn value(cursor: &mut Cursor<'_>) -> Result<Vec<u8>> {
    let mut value = Vec::new();
    let first = cursor.u8()?;
    string(cursor, first, 7, &mut value)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::unhex_spaced;

    fn line(name: &str, value: &str) -> Line {
        (name.into(), value.into())
    }

    #[test]
    fn the_example_of_the_rfc_is_read() {
        // RFC 9204, appendix B: the decoder allows 220 bytes.
        let mut table = QpackTable::default();
        let read =
            |table: &QpackTable, section: &str| table.read(&unhex_spaced(section), 220, true);
        // B.1: only a name of the static table.
        let section = "0000 510b 2f69 6e64 6578 2e68 746d 6c";
        assert_eq!(
            read(&table, section),
            Ok(vec![line(":path", "/index.html")])
        );
        // B.2, part of which comes later.
        let stream = unhex_spaced(
            "3fbd01 c00f 7777772e6578616d706c652e636f6d c10c 2f73616d706c652f70617468",
        );
        let section = "0381 10 11";
        assert!(table.push(&stream[..20]));
        assert_eq!(read(&table, section), Err(SectionProblem::Early));
        assert!(table.push(&stream[20..]));
        let expected = [
            line(":authority", "www.example.com"),
            line(":path", "/sample/path"),
        ];
        assert_eq!(read(&table, section).unwrap(), expected);
        // B.3 and B.4: an insertion, and a duplicate.
        assert!(table.push(&unhex_spaced(
            "4a 637573746f6d2d6b6579 0c 637573746f6d2d76616c7565"
        )));
        assert!(table.push(&unhex_spaced("02")));
        let expected = [
            line(":authority", "www.example.com"),
            line(":path", "/"),
            line("custom-key", "custom-value"),
        ];
        assert_eq!(read(&table, "0500 80 c1 81").unwrap(), expected);
        // B.5: the oldest one is evicted.
        assert!(table.push(&unhex_spaced("810d 637573746f6d2d76616c756532")));
        assert_eq!(table.table.entries.len(), 4);
        assert_eq!(table.table.size, 215);
    }

    #[test]
    fn entries_that_nobody_saw_are_unknown_and_new_ones_are_not() {
        let mut table = QpackTable::default();
        assert!(table.push(&unhex_spaced("3fbd01 00")));
        assert_eq!(
            table.read(&unhex_spaced("0200 80"), 220, true),
            Ok(vec![line("", "")])
        );
        assert!(table.push(&unhex_spaced("41 61 01 62")));
        let both = table.read(&unhex_spaced("0300 80 81"), 220, true).unwrap();
        assert_eq!(both, [line("a", "b"), line("", "")]);
        assert_eq!(
            table.read(&unhex_spaced("ff00 80"), 220, true),
            Err(SectionProblem::Damaged)
        );
    }
}
