//! Finds the boundaries of records in a stream that may have gaps. RFC 8446 §5.1.

use std::ops::Range;

use crate::tls::{ContentKind, Records};

/// Type, version and length.
pub(super) const RECORD_HEAD: usize = 5;

/// One side's stream.
#[derive(Default)]
pub(super) struct RecordAssembly {
    /// Received bytes that do not belong to a finished record.
    buffer: Vec<u8>,
    /// The position of the buffer in the stream.
    start: u64,
    /// A record with missing bytes, and the number of its bytes that have not arrived yet.
    cut: Option<(RecordHeader, u64, usize)>,
    /// The position from which record boundaries are unknown.
    lost: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub(super) kind: ContentKind,
    pub(super) length: usize,
    pub(super) bytes: [u8; RECORD_HEAD],
}

pub(super) enum FramedRecord<'a> {
    Record {
        head: RecordHeader,
        body: &'a [u8],
        at: Range<u64>,
    },
    /// A record with missing bytes.
    Cut { head: RecordHeader, at: Range<u64> },
    /// Record boundaries between these positions are unknown.
    Lost { at: Range<u64> },
}

impl RecordAssembly {
    /// The number of bytes of a record that are held.
    pub(super) fn held(&self) -> usize {
        self.buffer.capacity()
    }

    pub(super) fn push(&mut self, bytes: &[u8], found: &mut dyn FnMut(FramedRecord<'_>)) {
        let mut bytes = bytes;
        if let Some((head, from, left)) = &mut self.cut {
            let taken = bytes.len().min(*left);
            bytes = bytes.get(taken..).unwrap_or_default();
            *left -= taken;
            self.start += taken as u64;
            if *left > 0 {
                return;
            }
            let (head, at) = (*head, *from..self.start);
            self.cut = None;
            found(FramedRecord::Cut { head, at });
        }
        self.buffer.extend_from_slice(bytes);
        let buffer = std::mem::take(&mut self.buffer);
        let taken = self.walk(&buffer, found);
        self.start += taken as u64;
        self.buffer = buffer;
        self.buffer.drain(..taken);
    }

    pub(super) fn skip(&mut self, length: u64, found: &mut dyn FnMut(FramedRecord<'_>)) {
        if self.cut.is_none()
            && self.lost.is_none()
            && let Some(head) = RecordHeader::read(&self.buffer)
        {
            let left = RECORD_HEAD + head.length - self.buffer.len();
            self.cut = Some((head, self.start, left));
            self.start += self.buffer.len() as u64;
            self.buffer.clear();
        }
        let mut length = length;
        if let Some((head, from, left)) = &mut self.cut {
            let taken = length.min(*left as u64);
            length -= taken;
            *left -= taken as usize;
            self.start += taken;
            if *left > 0 {
                return;
            }
            let (head, at) = (*head, *from..self.start);
            self.cut = None;
            found(FramedRecord::Cut { head, at });
        }
        if length > 0 {
            self.lost.get_or_insert(self.start);
            self.start += self.buffer.len() as u64 + length;
            self.buffer.clear();
        }
    }

    /// Passes on complete records, and returns the number of their bytes.
    fn walk(&mut self, bytes: &[u8], found: &mut dyn FnMut(FramedRecord<'_>)) -> usize {
        let mut taken = 0;
        loop {
            let rest = bytes.get(taken..).unwrap_or_default();
            if let Some(since) = self.lost {
                let (skipped, is_found) = search(rest);
                taken += skipped;
                if !is_found {
                    return taken;
                }
                let at = since..self.start + taken as u64;
                self.lost = None;
                found(FramedRecord::Lost { at });
                continue;
            }
            let mut records = Records::new(rest);
            match records.next() {
                None => return taken,
                Some(Err(_)) => self.lost = Some(self.start + taken as u64),
                Some(Ok(record)) => {
                    let Some(head) = RecordHeader::read(rest) else {
                        return taken;
                    };
                    let from = self.start + taken as u64;
                    taken += RECORD_HEAD + head.length;
                    let at = from..self.start + taken as u64;
                    let body = record.body;
                    found(FramedRecord::Record { head, body, at });
                }
            }
        }
    }
}

impl RecordHeader {
    /// Reads the head of a record at a position that is certain.
    fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = *bytes.first_chunk::<RECORD_HEAD>()?;
        let [kind, _, _, high, low] = bytes;
        let kind = match kind {
            20 => ContentKind::ChangeCipherSpec,
            21 => ContentKind::Alert,
            22 => ContentKind::Handshake,
            23 => ContentKind::ApplicationData,
            _ => ContentKind::Heartbeat,
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        Some(Self {
            kind,
            length,
            bytes,
        })
    }
}

/// How many bytes precede the next record, and whether there is one. What looks like a head occurs
/// by chance once in 2 MB, so another head must follow the record, or its end must be the end of
/// the bytes. Handshake records are too few to be searched for.
fn search(bytes: &[u8]) -> (usize, bool) {
    for at in memchr::memchr3_iter(20, 21, 23, bytes) {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(end) = likely_end(rest) else {
            if rest.len() < RECORD_HEAD {
                return (at, false);
            }
            continue;
        };
        match rest.get(end..) {
            Some([]) => return (at, true),
            Some(next) if next.len() >= RECORD_HEAD => {
                if likely_end(next).is_some() {
                    return (at, true);
                }
            }
            _ => return (at, false),
        }
    }
    (bytes.len(), false)
}

/// The end of the record that seems to begin here.
fn likely_end(bytes: &[u8]) -> Option<usize> {
    let [kind, 3, 1..=3, high, low] = *bytes.first_chunk::<RECORD_HEAD>()? else {
        return None;
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let is_likely = (20..=23).contains(&kind) && (1..=(1 << 14) + 256).contains(&length);
    is_likely.then_some(RECORD_HEAD + length)
}
