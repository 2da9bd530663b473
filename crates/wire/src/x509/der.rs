//! Distinguished Encoding Rules, as far as certificates need them. ITU-T X.690 §8 and §10.
//!
//! Callers open values one level at a time, so nothing here recurses.

use crate::cursor::Cursor;
use crate::{Error, Result};

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_ID: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// The tag of a context-specific, constructed value.
pub(super) const fn context(number: u8) -> u8 {
    0xa0 | number
}

/// A sequence of values.
#[derive(Debug, Clone)]
pub(super) struct Der<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Der<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            cursor: Cursor::new("certificate", bytes),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cursor.is_empty()
    }

    pub(super) fn malformed(&self, why: &'static str) -> Error {
        self.cursor.malformed(why)
    }

    /// The next value of any type: its tag and its content.
    pub(super) fn any(&mut self) -> Result<(u8, &'a [u8])> {
        let tag = self.cursor.u8()?;
        if tag & 0x1f == 0x1f {
            return Err(self.malformed("a tag has more than one byte"));
        }
        let length = match self.cursor.u8()? {
            short @ 0..=0x7f => usize::from(short),
            0x81 => usize::from(self.cursor.u8()?),
            0x82 => usize::from(self.cursor.u16()?),
            0x83 => self.cursor.u24()?,
            _ => return Err(self.malformed("a length is indefinite or absurd")),
        };
        Ok((tag, self.cursor.take(length)?))
    }

    pub(super) fn expect(&mut self, tag: u8) -> Result<&'a [u8]> {
        match self.any()? {
            (found, content) if found == tag => Ok(content),
            _ => Err(self.malformed("a value has the wrong type")),
        }
    }

    pub(super) fn open(&mut self, tag: u8) -> Result<Self> {
        self.expect(tag).map(Self::new)
    }

    pub(super) fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>> {
        if self.cursor.rest().first() == Some(&tag) {
            self.expect(tag).map(Some)
        } else {
            Ok(None)
        }
    }

    pub(super) fn finish(self) -> Result<()> {
        self.cursor.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_every_form_are_read() {
        let long = [&[SEQUENCE, 0x82, 0x01, 0x00][..], &[7; 256]].concat();
        let cases: [(&[u8], usize); 3] = [
            (&[SEQUENCE, 0], 0),
            (&[SEQUENCE, 0x81, 2, 1, 2], 2),
            (&long, 256),
        ];
        for (bytes, length) in cases {
            assert_eq!(
                Der::new(bytes).expect(SEQUENCE).map(<[u8]>::len),
                Ok(length)
            );
        }
    }

    #[test]
    fn invalid_der_is_refused() {
        for bytes in [
            &[][..],
            &[SEQUENCE],
            &[SEQUENCE, 1],
            &[SEQUENCE, 0x80, 0, 0],
            &[SEQUENCE, 0x84, 0, 0, 0, 0],
            &[SEQUENCE, 0x83, 0xff, 0xff, 0xff, 0],
            &[0x3f, 0x81, 1, 0],
            &[INTEGER, 0],
        ] {
            assert!(Der::new(bytes).expect(SEQUENCE).is_err(), "{bytes:02x?}");
        }
    }
}
