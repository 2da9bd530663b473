//! Follows TLS records through one direction of a connection: their types, lengths and places, and
//! the unencrypted part of the handshake.

use roundtrip_wire::tls::{ContentKind, Handshakes, Record, Records, clear_handshake};

use crate::stream::Piece;

/// The bytes of a record's header: type, version, length.
const HEADER: usize = 5;
/// The largest content of an encrypted record, in bytes. RFC 5246 §6.2.3.
const MAX_LENGTH: u64 = (1 << 14) + 2048;
/// The limit in bytes for the hellos, and for the chain that TLS 1.2 sends unencrypted.
const MAX_CLEAR: usize = 64 << 10;
/// The number of records beyond which consecutive ones of the same type are merged.
const MAX_RECORDS: usize = 1 << 16;

/// A record, by its place in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordPlace {
    pub(crate) kind: ContentKind,
    /// Where the record begins, including its header.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl RecordPlace {
    pub(crate) fn length(&self) -> u64 {
        self.end - self.start
    }

    pub(crate) fn is_application_data(&self) -> bool {
        self.kind == ContentKind::ApplicationData
    }
}

#[derive(Debug, Default)]
pub(crate) struct RecordFollower {
    at: u64,
    header: Vec<u8>,
    /// Bytes of the record that are still to come.
    missing: u64,
    records: Vec<RecordPlace>,
    /// The beginning of the stream, up to the first gap.
    clear: Vec<u8>,
    has_gap: bool,
    /// What follows is not TLS, or its records can no longer be found until a segment begins with
    /// one.
    lost: bool,
    /// Whether the records of a part of the stream could not be found.
    was_lost: bool,
}

impl RecordFollower {
    /// Begins at this place in the stream.
    pub(crate) fn starting_at(at: u64) -> Self {
        Self {
            at,
            ..Self::default()
        }
    }

    /// Whether a stream that begins like this may be TLS.
    pub(crate) fn recognises(front: &[u8]) -> bool {
        matches!(front, [20..=23, 3, 0..=4, ..])
    }

    pub(crate) fn take(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Bytes(bytes) => {
                if self.lost && begins_record(bytes) {
                    self.lost = false;
                }
                if !self.has_gap {
                    let room = MAX_CLEAR - self.clear.len();
                    self.clear.extend(bytes.iter().take(room));
                }
                self.follow(bytes);
            }
            Piece::Unknown(count) => {
                self.has_gap = true;
                self.skip(count);
            }
        }
    }

    fn skip(&mut self, count: u64) {
        let within = if self.header.is_empty() {
            count.min(self.missing)
        } else {
            0
        };
        self.missing -= within;
        self.at += within;
        if within < count {
            self.lose();
            self.unknown(count - within);
        }
    }

    fn lose(&mut self) {
        (self.lost, self.was_lost) = (true, true);
        self.at -= self.header.len() as u64;
        let begun = std::mem::take(&mut self.header).len() as u64;
        self.missing = 0;
        self.unknown(begun);
    }

    /// Counts bytes without recognisable records as one record of data.
    fn unknown(&mut self, count: u64) {
        let start = self.at;
        self.at += count;
        // A stream that was never TLS has no records.
        if (self.has_gap || !self.records.is_empty()) && count > 0 {
            self.keep(RecordPlace {
                kind: ContentKind::ApplicationData,
                start,
                end: self.at,
            });
        }
    }

    fn keep(&mut self, place: RecordPlace) {
        let full = self.records.len() >= MAX_RECORDS;
        match self.records.last_mut() {
            Some(last) if full && last.kind == place.kind => last.end = place.end,
            _ => self.records.push(place),
        }
    }

    fn follow(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.lost {
            if self.missing > 0 {
                let skipped = self.missing.min(bytes.len() as u64);
                self.missing -= skipped;
                self.at += skipped;
                bytes = bytes.get(skipped as usize..).unwrap_or_default();
                continue;
            }
            let wanted = HEADER - self.header.len();
            let (taken, rest) = bytes.split_at(wanted.min(bytes.len()));
            self.header.extend(taken);
            self.at += taken.len() as u64;
            bytes = rest;
            if self.header.len() == HEADER {
                self.begin();
            }
        }
        self.unknown(bytes.len() as u64);
    }

    fn begin(&mut self) {
        let mut record = std::mem::take(&mut self.header);
        let length = record.get(3..5).map_or(0, |two| {
            u64::from(two[0]) << 8 | u64::from(*two.get(1).unwrap_or(&0))
        });
        // The reader of records decides the type: it is given an empty record of the same type.
        record.truncate(3);
        record.extend([0, 0]);
        let Some(Ok(Record { kind, .. })) = Records::new(&record).next() else {
            self.header = record;
            self.lose();
            return;
        };
        self.missing = length;
        let start = self.at - HEADER as u64;
        let place = RecordPlace {
            kind,
            start,
            end: start + HEADER as u64 + length,
        };
        self.keep(place);
    }

    pub(crate) fn records(&self) -> &[RecordPlace] {
        &self.records
    }

    /// The messages of the handshake that were sent unencrypted.
    pub(crate) fn messages<T>(&self, read: impl FnOnce(Handshakes<'_>) -> T) -> Option<T> {
        let handshake = clear_handshake(&self.clear).ok()?;
        Some(read(Handshakes::new(&handshake)))
    }

    /// Whether all records are known.
    pub(crate) fn is_whole(&self) -> bool {
        !self.was_lost
    }

    /// Whether the stream was seen from its beginning.
    pub(crate) fn began_with_handshake(&self) -> bool {
        let first = self.records.first();
        first.is_some_and(|first| first.kind == ContentKind::Handshake)
    }
}

/// Whether a segment begins with a record: random bytes look like this once in a million.
fn begins_record(bytes: &[u8]) -> bool {
    match bytes {
        [20..=23, 3, 1..=3, high, low, ..] => {
            let length = u64::from(*high) << 8 | u64::from(*low);
            (1..=MAX_LENGTH).contains(&length)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(pieces: &[Piece<'_>]) -> (Vec<(u64, u64)>, bool) {
        let mut follower = RecordFollower::default();
        for piece in pieces {
            follower.take(*piece);
        }
        let places = follower.records().iter().map(|r| (r.start, r.end));
        (places.collect(), follower.is_whole())
    }

    #[test]
    fn records_are_followed_through_what_was_not_kept() {
        let head = [23, 3, 3, 0, 200];
        assert_eq!(
            followed(&[
                Piece::Bytes(&head),
                Piece::Bytes(&[0; 10]),
                Piece::Unknown(190),
                Piece::Bytes(&head),
            ]),
            (vec![(0, 205), (205, 410)], true)
        );
        let (places, whole) = followed(&[Piece::Bytes(&head), Piece::Unknown(201)]);
        assert_eq!((places, whole), (vec![(0, 205), (205, 206)], false));
        let (places, whole) = followed(&[Piece::Bytes(b"GET / HTTP/1.1")]);
        assert_eq!((places, whole), (vec![], false));
    }

    #[test]
    fn records_are_found_again_where_a_segment_begins_with_one() {
        let head = [23, 3, 3, 0, 200];
        let (places, whole) = followed(&[
            Piece::Bytes(&head),
            Piece::Unknown(300),
            Piece::Bytes(&[0xaa; 30]),
            Piece::Bytes(&head),
            Piece::Unknown(200),
        ]);
        let expected = vec![(0, 205), (205, 305), (305, 335), (335, 540)];
        assert_eq!((places, whole), (expected, false));
    }
}
