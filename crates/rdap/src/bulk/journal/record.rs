//! The bytes of a journal: a header that identifies its list, then records of fixed size.

use std::io::{self, Read};
use std::path::PathBuf;

use aws_lc_rs::digest::{SHA256, digest};

use super::finished::Finished;
use super::{Identity, JournalError};

const MAGIC: &[u8; 8] = b"rtjourn1";
const CHECKSUM: usize = 16;
const BEFORE_CHECKSUM: usize = 8 + 8 + 32 + 32;
pub(super) const HEADER: usize = BEFORE_CHECKSUM + CHECKSUM;
/// The size in bytes: position, end of the output, checksum.
pub(super) const RECORD: usize = 24;

#[derive(Debug)]
pub(super) struct Header {
    bytes: [u8; HEADER],
    length: u64,
    /// A random number that is part of the checksum, so that a record of one journal is not valid
    /// in another.
    seed: u64,
}

/// The result of the query at `position` has been written, and the output ends at `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) position: u64,
    pub(super) end: u64,
}

impl Header {
    pub(super) fn new(identity: &Identity) -> Self {
        let parts = [
            MAGIC.as_slice(),
            &identity.length.to_be_bytes(),
            &identity.list,
            &identity.settings,
        ];
        let mut all = parts.concat();
        let sum = digest(&SHA256, &all);
        all.extend(sum.as_ref().iter().take(CHECKSUM));
        Self {
            bytes: all.first_chunk().copied().unwrap_or([0; HEADER]),
            length: identity.length,
            seed: sum
                .as_ref()
                .first_chunk()
                .map_or(0, |first| u64::from_be_bytes(*first)),
        }
    }

    pub(super) fn encode(&self) -> [u8; HEADER] {
        self.bytes
    }

    /// The bound of positions: a list has no more lines than bytes, plus one.
    pub(super) fn most(&self) -> u64 {
        self.length.saturating_add(1)
    }

    /// Determines how the header that was found differs from this one.
    pub(super) fn difference(&self, found: &[u8], path: PathBuf) -> JournalError {
        let (body, sum) = found.split_at(found.len().min(BEFORE_CHECKSUM));
        let is_whole = found.len() == HEADER && digest(&SHA256, body).as_ref().starts_with(sum);
        if !found.starts_with(MAGIC) || !is_whole {
            return JournalError::NotAJournal(path);
        }
        let list = 8..8 + 8 + 32;
        if found.get(list.clone()) == self.bytes.get(list) {
            JournalError::OtherSettings(path)
        } else {
            JournalError::OtherList(path)
        }
    }
}

impl Record {
    pub(super) fn encode(self, header: &Header, number: u64) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        let sum = self.checksum(header, number);
        let (chunks, _) = bytes.as_chunks_mut::<8>();
        for (chunk, value) in chunks.iter_mut().zip([self.position, self.end, sum]) {
            *chunk = value.to_be_bytes();
        }
        bytes
    }

    /// Returns `None` if the bytes were not written as this record of this journal.
    pub(super) fn decode(bytes: &[u8; RECORD], header: &Header, number: u64) -> Option<Self> {
        let (chunks, _) = bytes.as_chunks::<8>();
        let mut values = chunks.iter().map(|chunk| u64::from_be_bytes(*chunk));
        let record = Self {
            position: values.next()?,
            end: values.next()?,
        };
        let is_right = values.next()? == record.checksum(header, number);
        (is_right && record.position < header.most()).then_some(record)
    }

    /// FNV-1a, which detects bytes that are torn or moved.
    fn checksum(self, header: &Header, number: u64) -> u64 {
        let parts = [header.seed, number, self.position, self.end];
        let bytes = parts.into_iter().flat_map(u64::to_be_bytes);
        bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

/// The content of a journal.
#[derive(Debug, Default)]
pub(super) struct ReplayedJournal {
    pub(super) finished: Finished,
    /// The number of valid records.
    pub(super) count: u64,
    /// The end of the output according to the last valid record.
    pub(super) end: u64,
    /// Whether an invalid record is followed by a valid one.
    pub(super) is_damaged: bool,
}

/// Reads the records up to the first invalid one; `output` is the actual length of the output.
pub(super) fn replay(
    reader: &mut impl Read,
    header: &Header,
    output: u64,
) -> io::Result<ReplayedJournal> {
    let mut told = ReplayedJournal::default();
    let mut bytes = [0; RECORD];
    let mut is_over = false;
    let mut number = 0;
    while read(reader, &mut bytes)? {
        let whole = Record::decode(&bytes, header, number);
        number += 1;
        // The result of a query whose output was lost in a power failure is fetched again.
        let there = whole.filter(|record| record.end <= output);
        if is_over {
            told.is_damaged |= there.is_some();
            continue;
        }
        match there.filter(|record| record.end >= told.end) {
            Some(record) if told.finished.add(record.position) => {
                told.end = record.end;
                told.count += 1;
            }
            _ => is_over = true,
        }
    }
    Ok(told)
}

/// Reads a whole record; `false` if none is left.
fn read(reader: &mut impl Read, record: &mut [u8; RECORD]) -> io::Result<bool> {
    match reader.read_exact(record) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
