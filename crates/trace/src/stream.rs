//! One direction of a connection, put back in order: bytes, or the number of bytes that the capture
//! did not keep.

use std::collections::BTreeMap;

/// The largest amount of data after a gap that is held, and how far ahead it may be, in bytes.
const MAX_HELD: usize = 1 << 20;
const MAX_AHEAD: u64 = 64 << 20;
/// The approximate memory of a segment that is held, in bytes, beside its data.
const PER_PIECE: usize = 64;

/// The next part of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Bytes(&'a [u8]),
    /// This many bytes were sent, but are missing in the capture.
    Unknown(u64),
}

/// The order of one direction. Offsets count from the first byte of data.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    next: u64,
    /// What arrived after a gap, by offset: the kept bytes, and the whole length.
    held: BTreeMap<u64, (Vec<u8>, u64)>,
    held_bytes: usize,
}

impl Reassembly {
    /// Adds a segment with `length` bytes at `offset`, of which `kept` were captured. Calls `take`
    /// for everything that is now in order.
    pub(crate) fn push(
        &mut self,
        offset: u64,
        length: u64,
        kept: &[u8],
        take: &mut dyn FnMut(Piece<'_>),
    ) {
        let end = offset.saturating_add(length);
        if length == 0 || end <= self.next || offset > self.next.saturating_add(MAX_AHEAD) {
            return;
        }
        if offset > self.next {
            self.hold(offset, length, kept, take);
            return;
        }
        self.deliver(offset, length, kept, take);
        while let Some(entry) = self.held.first_entry() {
            if *entry.key() > self.next {
                break;
            }
            let (offset, (kept, length)) = entry.remove_entry();
            self.held_bytes -= PER_PIECE + kept.len();
            self.deliver(offset, length, &kept, take);
        }
    }

    fn hold(&mut self, offset: u64, length: u64, kept: &[u8], take: &mut dyn FnMut(Piece<'_>)) {
        let longer = self.held.get(&offset).is_none_or(|(_, l)| *l < length);
        if !longer {
            return;
        }
        if let Some((old, _)) = self.held.insert(offset, (kept.to_vec(), length)) {
            self.held_bytes -= PER_PIECE + old.len();
        }
        self.held_bytes += PER_PIECE + kept.len();
        // The gap is never filled: the capture lost something unknown.
        if self.held_bytes > MAX_HELD {
            self.give_up(take);
        }
    }

    /// Roughly the memory of the data after a gap, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.held_bytes
    }

    /// Notes that the receiver has everything up to here: what is still missing will never be
    /// captured.
    pub(crate) fn acknowledged(&mut self, end: u64, take: &mut dyn FnMut(Piece<'_>)) {
        if end > self.next && !self.held.is_empty() {
            self.give_up(take);
        }
    }

    /// The gap at the front will never be filled.
    fn give_up(&mut self, take: &mut dyn FnMut(Piece<'_>)) {
        while let Some((offset, (kept, length))) = self.held.pop_first() {
            self.held_bytes -= PER_PIECE + kept.len();
            if offset > self.next {
                take(Piece::Unknown(offset - self.next));
                self.next = offset;
            }
            self.deliver(offset, length, &kept, take);
        }
    }

    fn deliver(&mut self, offset: u64, length: u64, kept: &[u8], take: &mut dyn FnMut(Piece<'_>)) {
        let end = offset.saturating_add(length);
        if end <= self.next {
            return;
        }
        let skip = self.next - offset;
        let fresh = usize::try_from(skip).ok().and_then(|skip| kept.get(skip..));
        let fresh = fresh.unwrap_or_default();
        let fresh = fresh
            .get(..usize::try_from(length - skip).unwrap_or(usize::MAX))
            .unwrap_or(fresh);
        if !fresh.is_empty() {
            take(Piece::Bytes(fresh));
        }
        let unknown = length - skip - fresh.len() as u64;
        if unknown > 0 {
            take(Piece::Unknown(unknown));
        }
        self.next = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(segments: &[(u64, u64, &[u8])]) -> Vec<Result<Vec<u8>, u64>> {
        let mut stream = Reassembly::default();
        let mut told = Vec::new();
        for (offset, length, kept) in segments {
            stream.push(*offset, *length, kept, &mut |piece| {
                told.push(match piece {
                    Piece::Bytes(bytes) => Ok(bytes.to_vec()),
                    Piece::Unknown(count) => Err(count),
                });
            });
        }
        told
    }

    #[test]
    fn data_in_any_order_is_read_in_order() {
        let expected = [Ok(b"ab".to_vec()), Ok(b"cd".to_vec()), Ok(b"ef".to_vec())];
        assert_eq!(
            told(&[(0, 2, b"ab"), (4, 2, b"ef"), (2, 2, b"cd"), (2, 2, b"cd")]),
            expected
        );
        assert_eq!(
            told(&[(0, 2, b"ab"), (0, 4, b"abcd"), (3, 3, b"def")]),
            [Ok(b"ab".to_vec()), Ok(b"cd".to_vec()), Ok(b"ef".to_vec())]
        );
    }

    #[test]
    fn bytes_that_were_cut_off_are_counted() {
        assert_eq!(
            told(&[(0, 5, b"ab"), (5, 1, b"f")]),
            [Ok(b"ab".to_vec()), Err(3), Ok(b"f".to_vec())]
        );
    }

    #[test]
    fn a_gap_that_is_never_filled_does_not_grow_memory() {
        let mut stream = Reassembly::default();
        let mut unknown = 0;
        for n in 1..40_u64 {
            stream.push(n * 100_000, 100_000, &vec![0; 100_000], &mut |piece| {
                if let Piece::Unknown(count) = piece {
                    unknown += count;
                }
            });
            assert!(stream.held_bytes <= MAX_HELD);
        }
        assert_eq!(unknown, 100_000);
    }

    /// Only headers were captured, and only in one direction.
    #[test]
    fn what_was_cut_off_after_a_gap_does_not_grow_memory_either() {
        let mut stream = Reassembly::default();
        let mut unknown = 0;
        for n in 1..100_000_u64 {
            stream.push(n * 10, 10, &[], &mut |piece| {
                if let Piece::Unknown(count) = piece {
                    unknown += count;
                }
            });
            assert!(stream.held.len() <= MAX_HELD / PER_PIECE);
        }
        assert!(unknown > 0);
    }
}
