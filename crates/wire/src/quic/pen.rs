//! Writes into a buffer from front to back: each item is written completely, or not at all.

/// The largest variable-length integer. RFC 9000 §16.
pub const MAX_VARINT: u64 = (1 << 62) - 1;

/// The number of bytes of a variable-length integer; 8 for a value that is too large to encode.
#[inline]
pub const fn varint_size(value: u64) -> usize {
    if value < 1 << 6 {
        1
    } else if value < 1 << 14 {
        2
    } else if value < 1 << 30 {
        4
    } else {
        8
    }
}

/// A position in a buffer that is being filled. A method that returns `false` has written nothing.
#[derive(Debug)]
pub struct Pen<'a> {
    buffer: &'a mut [u8],
    at: usize,
}

impl<'a> Pen<'a> {
    #[inline]
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, at: 0 }
    }

    /// The number of bytes that can still be written.
    #[inline]
    pub fn room(&self) -> usize {
        self.buffer.len() - self.at
    }

    /// The number of bytes written.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The bytes written.
    #[inline]
    pub fn written(&self) -> &[u8] {
        self.buffer.get(..self.at).unwrap_or_default()
    }

    /// The free part of the buffer, for callers to fill; then call [`Pen::advance`] with the number
    /// of bytes written.
    #[inline]
    pub fn rest(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.at..).unwrap_or_default()
    }

    #[inline]
    pub fn advance(&mut self, count: usize) -> bool {
        let fits = count <= self.room();
        if fits {
            self.at += count;
        }
        fits
    }

    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) -> bool {
        let Some(place) = self.place(bytes.len()) else {
            return false;
        };
        place.copy_from_slice(bytes);
        true
    }

    #[inline]
    pub fn zeros(&mut self, count: usize) -> bool {
        let Some(place) = self.place(count) else {
            return false;
        };
        place.fill(0);
        true
    }

    #[inline]
    pub fn u8(&mut self, value: u8) -> bool {
        self.bytes(&[value])
    }

    #[inline]
    pub fn u16(&mut self, value: u16) -> bool {
        self.bytes(&value.to_be_bytes())
    }

    #[inline]
    pub fn u32(&mut self, value: u32) -> bool {
        self.bytes(&value.to_be_bytes())
    }

    /// Writes a variable-length integer (RFC 9000 §16), or nothing if the value is too large.
    #[inline]
    pub fn varint(&mut self, value: u64) -> bool {
        if value < 1 << 6 {
            self.u8(value as u8)
        } else if value < 1 << 14 {
            self.u16(value as u16 | 0x4000)
        } else if value < 1 << 30 {
            self.u32(value as u32 | 0x8000_0000)
        } else if value <= MAX_VARINT {
            self.bytes(&(value | 0xc000_0000_0000_0000).to_be_bytes())
        } else {
            false
        }
    }

    /// Changes a byte that has been written.
    pub(super) fn set(&mut self, at: usize, value: u8) {
        if let Some(byte) = self.buffer.get_mut(at) {
            *byte = value;
        }
    }

    /// Returns the next `count` bytes, which then count as written.
    #[inline]
    fn place(&mut self, count: usize) -> Option<&mut [u8]> {
        let place = self.buffer.get_mut(self.at..)?.get_mut(..count)?;
        self.at += count;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_the_rfc_are_written() {
        // RFC 9000 §A.1.
        let cases: [(u64, &[u8]); 4] = [
            (
                151_288_809_941_952_652,
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c],
            ),
            (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
            (15_293, &[0x7b, 0xbd]),
            (37, &[0x25]),
        ];
        for (value, bytes) in cases {
            let mut buffer = [0; 9];
            let mut pen = Pen::new(&mut buffer);
            assert!(pen.varint(value));
            assert_eq!(pen.written(), bytes);
            assert_eq!(varint_size(value), bytes.len());
            let mut short = vec![0; bytes.len() - 1];
            let mut pen = Pen::new(&mut short);
            assert!(!pen.varint(value));
            assert_eq!(pen.position(), 0);
        }
        assert!(!Pen::new(&mut [0; 9]).varint(MAX_VARINT + 1));
    }

    #[test]
    fn values_without_room_are_not_written() {
        let mut buffer = [9; 4];
        let mut pen = Pen::new(&mut buffer);
        assert!(pen.bytes(&[1, 2, 3]));
        assert!(!pen.u16(0xffff) && !pen.zeros(2) && !pen.bytes(&[0; 9]) && !pen.advance(2));
        assert_eq!((pen.position(), pen.room()), (3, 1));
        assert!(pen.zeros(1) && pen.zeros(0) && !pen.u8(1));
        assert_eq!(buffer, [1, 2, 3, 0]);
    }
}
