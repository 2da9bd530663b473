//! The options at the end of a block: code, length, value, padded to four bytes.
//! draft-ietf-opsawg-pcapng §3.5.

use std::borrow::Cow;

use super::ByteOrder;
use crate::cursor::Cursor;
use crate::{Error, Result};

const END: u16 = 0;
pub(super) const COMMENT: u16 = 1;
/// Options of sections.
pub(super) const HARDWARE: u16 = 2;
pub(super) const SYSTEM: u16 = 3;
pub(super) const APPLICATION: u16 = 4;
/// Options of interfaces.
pub(super) const NAME: u16 = 2;
pub(super) const DESCRIPTION: u16 = 3;
pub(super) const TIME_RESOLUTION: u16 = 9;
pub(super) const TIME_OFFSET: u16 = 14;
/// Options of packets.
pub(super) const FLAGS: u16 = 2;
/// Options of statistics.
pub(super) const RECEIVED: u16 = 4;
pub(super) const DROPPED: u16 = 5;

/// Numbers in a section's byte order.
impl ByteOrder {
    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(super) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }

    pub(super) fn put_u16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    pub(super) fn put_u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    pub(super) fn put_u64(self, value: u64) -> [u8; 8] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }
}

/// Passes each option to `read`.
pub(super) fn read_options<'a>(
    mut rest: Cursor<'a>,
    order: ByteOrder,
    mut read: impl FnMut(u16, &'a [u8]),
) -> Result<()> {
    while !rest.is_empty() {
        let code = order.u16(rest.array()?);
        let length = usize::from(order.u16(rest.array()?));
        if code == END {
            break;
        }
        read(code, rest.take(length)?);
        rest.take(length.next_multiple_of(4) - length)?;
    }
    Ok(())
}

/// Text is UTF-8; invalid bytes are replaced.
pub(super) fn text(value: &[u8]) -> Cow<'_, str> {
    // Some writers include a terminating zero.
    String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value))
}

/// Options that are collected for a block.
#[derive(Debug)]
pub(super) struct OptionWriter {
    order: ByteOrder,
    bytes: Vec<u8>,
}

impl OptionWriter {
    pub(super) fn new(order: ByteOrder) -> Self {
        Self {
            order,
            bytes: Vec::new(),
        }
    }

    pub(super) fn put(&mut self, code: u16, value: &[u8]) -> Result<()> {
        let length = u16::try_from(value.len()).map_err(|_| Error::TooLarge {
            what: "an option of a capture",
            limit: usize::from(u16::MAX),
        })?;
        self.bytes.extend(self.order.put_u16(code));
        self.bytes.extend(self.order.put_u16(length));
        self.bytes.extend(value);
        let padded = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(padded, 0);
        Ok(())
    }

    pub(super) fn put_text(&mut self, code: u16, text: Option<&Cow<'_, str>>) -> Result<()> {
        text.map_or(Ok(()), |text| self.put(code, text.as_bytes()))
    }

    pub(super) fn put_comments(&mut self, comments: &[Cow<'_, str>]) -> Result<()> {
        comments
            .iter()
            .try_for_each(|comment| self.put(COMMENT, comment.as_bytes()))
    }

    /// Returns the options with their end marker; empty if there are no options.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if !self.bytes.is_empty() {
            self.bytes.extend([0; 4]);
        }
        self.bytes
    }
}
