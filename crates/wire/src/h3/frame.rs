//! Frames and their types, and the integers that they are made of. RFC 9114 §7, RFC 9000 §16.

use super::{Code, ProtocolError};

pub(super) const DATA: u64 = 0;
pub(super) const HEADERS: u64 = 1;
pub(super) const CANCEL_PUSH: u64 = 3;
pub(super) const SETTINGS: u64 = 4;
pub(super) const PUSH_PROMISE: u64 = 5;
pub(super) const GOAWAY: u64 = 7;
pub(super) const MAX_PUSH_ID: u64 = 0xd;
/// PRIORITY_UPDATE for a request and for a push. RFC 9218 §7.2.
pub(super) const REQUEST_PRIORITY: u64 = 0xf0700;
pub(super) const PUSH_PRIORITY: u64 = 0xf0701;

/// A frame's type and the length of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) kind: u64,
    pub(super) length: u64,
}

impl FrameHead {
    /// The largest head of a frame, in bytes.
    pub(super) const MAX_SIZE: usize = 16;

    /// Reads a frame's head, and returns it with its length in bytes. `None` if it is incomplete.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let (kind, first) = read_varint(bytes)?;
        let (length, second) = read_varint(bytes.get(first..)?)?;
        Some((Self { kind, length }, first + second))
    }

    /// Whether the type exists in HTTP/2 but not in HTTP/3. RFC 9114 §7.2.8.
    pub(super) fn is_reserved(self) -> bool {
        matches!(self.kind, 2 | 6 | 8 | 9)
    }
}

/// Reads an integer, and returns its length in bytes too. `None` if it is incomplete.
pub(super) fn read_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let length = 1 << (first >> 6);
    let high = u64::from(first & 0x3f);
    let rest = bytes.get(1..length)?;
    let value = rest.iter().fold(high, |sum, b| sum << 8 | u64::from(*b));
    Some((value, length))
}

/// An integer that is the whole content of a frame.
pub(super) fn read_only_varint(content: &[u8]) -> Result<u64, ProtocolError> {
    match read_varint(content) {
        Some((value, length)) if length == content.len() => Ok(value),
        _ => Err(wrong_length()),
    }
}

pub(super) fn wrong_length() -> ProtocolError {
    ProtocolError {
        code: Code::H3_FRAME_ERROR,
        why: "a frame whose length differs from its content",
    }
}

pub(super) fn write_varint(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_be_bytes();
    let (flags, length) = match value {
        0..0x40 => (0, 1),
        0x40..0x4000 => (0x40, 2),
        0x4000..0x4000_0000 => (0x80, 4),
        _ => (0xc0, 8),
    };
    let start = out.len();
    out.extend_from_slice(bytes.get(8 - length..).unwrap_or_default());
    if let Some(first) = out.get_mut(start) {
        *first |= flags;
    }
}

pub(super) fn unexpected(why: &'static str) -> ProtocolError {
    ProtocolError {
        code: Code::H3_FRAME_UNEXPECTED,
        why,
    }
}
