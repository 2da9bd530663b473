//! Reads bytes from front to back with every bound checked; all binary parsers use it.

use crate::{Error, Result};

/// A position in a message. Sub-cursors know their absolute position, which DNS pointers need.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    what: &'static str,
    rest: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    /// `what` names the thing being parsed, for error messages.
    pub(crate) fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self {
            what,
            rest: bytes,
            position: 0,
        }
    }

    /// Like [`Self::new`], but starts at `position` in `bytes`.
    pub(crate) fn starting_at(
        what: &'static str,
        bytes: &'a [u8],
        position: usize,
    ) -> Result<Self> {
        let mut cursor = Self::new(what, bytes);
        cursor.take(position)?;
        Ok(cursor)
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn malformed(&self, why: &'static str) -> Error {
        Error::malformed(self.what, why)
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Error::CutShort {
            what: self.what,
            needed: count,
            left: self.rest.len(),
        })?;
        self.rest = rest;
        self.position += count;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u24(&mut self) -> Result<usize> {
        let [a, b, c] = self.array()?;
        Ok(usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c))
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A QUIC variable-length integer. RFC 9000 §16.
    pub(crate) fn varint(&mut self) -> Result<u64> {
        let first = self.u8()?;
        let more = (1_usize << (first >> 6)) - 1;
        let high = u64::from(first & 0x3f);
        Ok(self
            .take(more)?
            .iter()
            .fold(high, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// The bytes after a variable-length integer that gives their number.
    pub(crate) fn take_varint(&mut self) -> Result<&'a [u8]> {
        let count = self.varint()?;
        self.take(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// A cursor over the next `count` bytes.
    pub(crate) fn within(&mut self, count: usize) -> Result<Self> {
        let position = self.position;
        Ok(Self {
            what: self.what,
            rest: self.take(count)?,
            position,
        })
    }

    /// Reads a TLS vector: one byte of length, then the content. RFC 8446 §3.4.
    pub(crate) fn vector8(&mut self) -> Result<Self> {
        let count = usize::from(self.u8()?);
        self.within(count)
    }

    pub(crate) fn vector16(&mut self) -> Result<Self> {
        let count = usize::from(self.u16()?);
        self.within(count)
    }

    pub(crate) fn finish(self) -> Result<()> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(self.malformed("bytes follow its end"))
        }
    }

    /// Parses items until nothing is left.
    pub(crate) fn collect<T>(
        mut self,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while !self.is_empty() {
            items.push(item(&mut self)?);
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_length_integers_of_the_rfc() {
        // RFC 9000 §A.1.
        let cases: [(&[u8], u64); 5] = [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        for (bytes, value) in cases {
            let mut cursor = Cursor::new("integer", bytes);
            assert_eq!(cursor.varint(), Ok(value));
            assert!(cursor.finish().is_ok());
        }
        assert!(Cursor::new("integer", &[0xc2, 0x19]).varint().is_err());
    }

    #[test]
    fn positions_are_absolute_and_bounds_are_kept() {
        let mut cursor = Cursor::new("thing", &[0, 2, 7, 8, 9]);
        let mut inner = cursor.vector16().unwrap();
        assert_eq!((inner.position(), inner.u8()), (2, Ok(7)));
        assert!(inner.u16().is_err());
        assert_eq!((inner.position(), inner.u8()), (3, Ok(8)));
        assert_eq!(
            cursor.clone().finish(),
            Err(Error::malformed("thing", "bytes follow its end"))
        );
        assert_eq!(
            cursor.take(2),
            Err(Error::CutShort {
                what: "thing",
                needed: 2,
                left: 1
            })
        );
    }
}
