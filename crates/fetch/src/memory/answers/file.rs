//! The file format of an answer: its key, its metadata, and the body as received.

use bytes::Bytes;

use super::{MAX_BODY_LENGTH, Stored};
use crate::memory::Stamp;
use crate::memory::codec::{Form, Reader, Writer};

const FORM: Form = Form {
    name: *b"rtan",
    version: 1,
};
const MAX_KEY: usize = 16 << 10;
const MAX_FIELD: usize = 16 << 10;
const MAX_FIELDS: usize = 64;
/// The largest size of the part before the body, in bytes.
pub(super) const MAX_HEAD_LENGTH: usize = 128 << 10;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Vec<u8>,
    pub(super) answer: Stored,
}

/// Encodes the part before the body; `None` if it could not be parsed again.
pub(super) fn encode(key: &[u8], stored: &Stored) -> Option<Vec<u8>> {
    let is_short = |name: &str, value: &[u8]| name.len().max(value.len()) <= MAX_FIELD;
    let fits = key.len() <= MAX_KEY
        && stored.body.len() <= MAX_BODY_LENGTH
        && stored.headers.len().max(stored.vary.len()) <= MAX_FIELDS
        && stored
            .headers
            .iter()
            .all(|(name, value)| is_short(name, value))
        && stored
            .vary
            .iter()
            .all(|(name, value)| is_short(name, value.as_bytes()));
    if !fits {
        return None;
    }
    let mut writer = Writer::new(FORM);
    writer.counted(key);
    writer.u16(stored.status);
    writer.u64(stored.asked_at.0);
    writer.u64(stored.fetched_at.0);
    writer.count(stored.headers.len());
    for (name, value) in &stored.headers {
        writer.counted(name.as_bytes());
        writer.counted(value);
    }
    writer.count(stored.vary.len());
    for (name, value) in &stored.vary {
        writer.counted(name.as_bytes());
        writer.counted(value.as_bytes());
    }
    writer.count(stored.body.len());
    let head = writer.finish(&stored.body);
    (head.len() <= MAX_HEAD_LENGTH).then_some(head)
}

pub(super) fn decode(bytes: &[u8]) -> Option<Entry> {
    let mut reader = Reader::new(FORM, bytes)?;
    let key = reader.counted(MAX_KEY)?.to_vec();
    let status = reader.u16()?;
    let asked_at = Stamp(reader.u64()?);
    let fetched_at = Stamp(reader.u64()?);
    let headers = reader.items(MAX_FIELDS, |reader| {
        let name = reader.text(MAX_FIELD)?;
        Some((name, reader.counted(MAX_FIELD)?.to_vec()))
    })?;
    let vary = reader.items(MAX_FIELDS, |reader| {
        Some((reader.text(MAX_FIELD)?, reader.text(MAX_FIELD)?))
    })?;
    let body = Bytes::copy_from_slice(reader.counted(MAX_BODY_LENGTH)?);
    reader.finish()?;
    let answer = Stored {
        status,
        headers,
        body,
        fetched_at,
        asked_at,
        vary,
    };
    Some(Entry { key, answer })
}
