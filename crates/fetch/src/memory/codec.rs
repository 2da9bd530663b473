//! The format of stored files: a magic name, a version, a checksum, then numbers and
//! length-prefixed bytes in big-endian order.
//!
//! A file with another name or version, a wrong checksum, a truncated item or trailing bytes is
//! rejected.

use aws_lc_rs::digest::{Context, SHA256};

const CHECKSUM: usize = 16;
/// Name, version, checksum.
const HEAD: usize = 4 + 2 + CHECKSUM;

/// The name and version of a kind of file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) name: [u8; 4],
    pub(super) version: u16,
}

/// Writes a file.
#[derive(Debug)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn new(form: Form) -> Self {
        let mut bytes = Vec::with_capacity(1024);
        bytes.extend_from_slice(&form.name);
        bytes.extend_from_slice(&form.version.to_be_bytes());
        bytes.extend_from_slice(&[0; CHECKSUM]);
        Self { bytes }
    }

    pub(super) fn u16(&mut self, number: u16) {
        self.bytes.extend_from_slice(&number.to_be_bytes());
    }

    pub(super) fn u64(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_be_bytes());
    }

    /// Writes the number of items that follow.
    pub(super) fn count(&mut self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(&count.to_be_bytes());
    }

    pub(super) fn counted(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// The finished file, except for `tail`, which the caller writes after it unchanged.
    pub(super) fn finish(mut self, tail: &[u8]) -> Vec<u8> {
        let (head, body) = self.bytes.split_at_mut(HEAD);
        let sum = checksum(&[body, tail]);
        if let Some(place) = head.last_chunk_mut() {
            *place = sum;
        }
        self.bytes
    }
}

/// Reads a file.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The content after the header, if this is a complete file of this form.
    pub(super) fn new(form: Form, bytes: &'a [u8]) -> Option<Self> {
        let (name, rest) = bytes.split_first_chunk::<4>()?;
        let (version, rest) = rest.split_first_chunk::<2>()?;
        let (sum, rest) = rest.split_first_chunk::<CHECKSUM>()?;
        let is_ours = *name == form.name
            && u16::from_be_bytes(*version) == form.version
            && *sum == checksum(&[rest]);
        is_ours.then_some(Self { rest })
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.array()?))
    }

    /// The number of items that follow; more than `most` are refused.
    pub(super) fn count(&mut self, most: usize) -> Option<usize> {
        let count = u32::from_be_bytes(self.array()?) as usize;
        (count <= most).then_some(count)
    }

    pub(super) fn counted(&mut self, most: usize) -> Option<&'a [u8]> {
        let count = self.count(most)?;
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    pub(super) fn text(&mut self, most: usize) -> Option<String> {
        String::from_utf8(self.counted(most)?.to_vec()).ok()
    }

    /// Reads as many items as the count announces.
    pub(super) fn items<T>(
        &mut self,
        most: usize,
        mut item: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count = self.count(most)?;
        (0..count).map(|_| item(self)).collect()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Checks that nothing is left.
    pub(super) fn finish(self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*array)
    }
}

/// The first half of SHA-256: it detects accidents, not deliberate changes.
pub(super) fn checksum(parts: &[&[u8]]) -> [u8; CHECKSUM] {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    let digest = context.finish();
    digest.as_ref().first_chunk().copied().unwrap_or_default()
}
