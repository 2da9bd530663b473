//! Reads frames from front to back with every bound checked; failures are `None`, because building
//! errors would cost time.

#[derive(Debug, Clone)]
pub(super) struct VarintReader<'a> {
    rest: &'a [u8],
}

impl<'a> VarintReader<'a> {
    #[inline]
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(u8::from_be_bytes)
    }

    /// RFC 9000 §16.
    #[inline]
    pub(super) fn varint(&mut self) -> Option<u64> {
        match self.rest.first()? >> 6 {
            0 => self.u8().map(u64::from),
            1 => {
                let value = u16::from_be_bytes(self.array()?);
                Some(u64::from(value & 0x3fff))
            }
            2 => {
                let value = u32::from_be_bytes(self.array()?);
                Some(u64::from(value & 0x3fff_ffff))
            }
            _ => {
                let value = u64::from_be_bytes(self.array()?);
                Some(value & 0x3fff_ffff_ffff_ffff)
            }
        }
    }

    /// The bytes after a variable-length integer that gives their number.
    #[inline]
    pub(super) fn take_varint(&mut self) -> Option<&'a [u8]> {
        let count = self.varint()?;
        self.take(usize::try_from(count).ok()?)
    }
}
