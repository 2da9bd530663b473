//! The record layer: splits a byte stream into records. RFC 8446 §5.1, RFC 5246 §6.2.

use super::Version;
use crate::cursor::Cursor;
use crate::{Error, Result};

/// The largest record in bytes. TLS 1.2 allows ciphertext 2,048 bytes more than the plaintext's
/// 16,384; TLS 1.3 only 256.
const MAX_RECORD: usize = (1 << 14) + 2048;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContentKind {
    ChangeCipherSpec,
    Alert,
    Handshake,
    /// Application data. In TLS 1.3, all encrypted records have this type.
    ApplicationData,
    Heartbeat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    pub kind: ContentKind,
    /// The version, which is always 1.2, or 1.0 in a first `ClientHello`, and so means little.
    pub version: Version,
    pub body: &'a [u8],
}

/// The complete records at the start of a stream; ends at the first incomplete one.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    rest: &'a [u8],
}

impl ContentKind {
    fn from_wire(byte: u8) -> Option<Self> {
        Some(match byte {
            20 => Self::ChangeCipherSpec,
            21 => Self::Alert,
            22 => Self::Handshake,
            23 => Self::ApplicationData,
            24 => Self::Heartbeat,
            _ => return None,
        })
    }
}

impl<'a> Records<'a> {
    pub fn new(stream: &'a [u8]) -> Self {
        Self { rest: stream }
    }

    /// The unread rest: at the end, an incomplete record.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Parses one record and returns the rest; `None` if more bytes are needed.
    fn split(stream: &'a [u8]) -> Result<Option<(Record<'a>, &'a [u8])>> {
        let mut cursor = Cursor::new("TLS record", stream);
        // Each byte is checked as soon as it arrives, so that a stream of another protocol never
        // looks like truncated TLS.
        let Ok(kind) = cursor.u8() else {
            return Ok(None);
        };
        let kind = ContentKind::from_wire(kind)
            .ok_or_else(|| cursor.malformed("its content type is unknown"))?;
        let Ok(version) = cursor.u16() else {
            return Ok(None);
        };
        if version >> 8 != 3 {
            return Err(cursor.malformed("its version is unknown"));
        }
        let Ok(length) = cursor.u16() else {
            return Ok(None);
        };
        if usize::from(length) > MAX_RECORD {
            return Err(Error::TooLarge {
                what: "a TLS record",
                limit: MAX_RECORD,
            });
        }
        let Ok(body) = cursor.take(usize::from(length)) else {
            return Ok(None);
        };
        let version = Version(version);
        let record = Record {
            kind,
            version,
            body,
        };
        Ok(Some((record, cursor.rest())))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>>;

    /// An error is the last item, because the start of the next record is then unknown.
    fn next(&mut self) -> Option<Self::Item> {
        match Self::split(self.rest) {
            Ok(None) => None,
            Ok(Some((record, rest))) => {
                self.rest = rest;
                Some(Ok(record))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_records_are_read_and_the_rest_is_kept() {
        let stream = [
            22, 3, 1, 0, 2, 7, 8, 20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 9, 1, 2,
        ];
        let mut records = Records::new(&stream);
        let read: Vec<_> = records.by_ref().map(Result::unwrap).collect();
        assert_eq!(
            read.iter().map(|r| (r.kind, r.body)).collect::<Vec<_>>(),
            [
                (ContentKind::Handshake, [7_u8, 8].as_slice()),
                (ContentKind::ChangeCipherSpec, [1].as_slice())
            ]
        );
        assert_eq!(records.rest(), [23, 3, 3, 0, 9, 1, 2]);
    }

    #[test]
    fn other_protocols_are_refused_at_once() {
        for stream in [
            b"HTTP/1.1 400 Bad Request".as_slice(),
            b"\x16",
            b"\x16\x02\x00\x00\x00",
            b"\x16\x03\x01\xff\xff",
        ] {
            let first = Records::new(stream).next();
            if stream.len() == 1 {
                assert_eq!(first, None);
            } else {
                assert!(first.is_some_and(|r| r.is_err()), "{stream:?}");
            }
        }
    }
}
