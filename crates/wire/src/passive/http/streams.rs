//! One direction of a QUIC stream, put in order. RFC 9000 §2.2.

use std::collections::BTreeMap;
use std::ops::Range;

/// The largest number of bytes that wait for earlier ones. Beyond it, the missing bytes are
/// considered lost.
const MAX_HELD: usize = 1 << 20;
/// The approximate memory of a piece that waits, in bytes, beside its data.
const PER_PIECE: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Assembly {
    next: u64,
    /// Bytes and the position that they came from, by offset.
    held: BTreeMap<u64, (Vec<u8>, u64)>,
    /// The memory of waiting bytes.
    size: usize,
    /// Where the stream ends.
    end: Option<u64>,
    /// The latest position of all bytes delivered so far.
    latest: u64,
}

pub(super) enum Ordered<'a> {
    Bytes(&'a [u8], Range<u64>),
    /// This many bytes are missing.
    Missing(u64, Range<u64>),
}

impl Assembly {
    /// Takes the data of a frame at this offset, and delivers contiguous bytes.
    pub(super) fn push(
        &mut self,
        offset: u64,
        data: &[u8],
        fin: bool,
        place: u64,
        each: &mut dyn FnMut(Ordered<'_>),
    ) {
        let end = offset.saturating_add(data.len() as u64);
        if fin {
            self.end = Some(end);
        }
        if end <= self.next {
            return;
        }
        if offset <= self.next {
            let behind = usize::try_from(self.next - offset).unwrap_or(usize::MAX);
            self.deliver(data.get(behind..).unwrap_or_default(), place, each);
        } else if self
            .held
            .get(&offset)
            .is_none_or(|(old, _)| old.len() < data.len())
        {
            let old = self.held.insert(offset, (data.to_vec(), place));
            self.size += PER_PIECE + data.len();
            self.size -= old.map_or(0, |(old, _)| PER_PIECE + old.len());
        }
        self.release(each);
        while self.size > MAX_HELD {
            self.pass_over(each);
            self.release(each);
        }
    }

    /// Roughly the memory of waiting bytes.
    pub(super) fn held(&self) -> usize {
        self.size
    }

    /// Whether everything has been delivered.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| end <= self.next)
    }

    fn deliver(&mut self, bytes: &[u8], place: u64, each: &mut dyn FnMut(Ordered<'_>)) {
        self.next = self.next.saturating_add(bytes.len() as u64);
        self.latest = self.latest.max(place);
        each(Ordered::Bytes(bytes, place.min(self.latest)..self.latest));
    }

    fn release(&mut self, each: &mut dyn FnMut(Ordered<'_>)) {
        while let Some(first) = self.held.first_entry().filter(|e| *e.key() <= self.next) {
            let (offset, (bytes, place)) = first.remove_entry();
            self.size -= PER_PIECE + bytes.len();
            let behind = usize::try_from(self.next - offset).unwrap_or(usize::MAX);
            if let Some(rest) = bytes.get(behind..).filter(|rest| !rest.is_empty()) {
                self.deliver(rest, place, each);
            }
        }
    }

    fn pass_over(&mut self, each: &mut dyn FnMut(Ordered<'_>)) {
        if let Some((offset, (_, place))) = self.held.first_key_value() {
            let missing = offset.saturating_sub(self.next);
            self.next = *offset;
            each(Ordered::Missing(missing, *place..*place));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_in_order_and_once() {
        let mut assembly = Assembly::default();
        let mut text = Vec::new();
        let mut places = Vec::new();
        for (place, (offset, data, fin)) in [
            (4, &b"rld"[..], true),
            (1, b"ell", false),
            (0, b"hel", false),
            (0, b"h", false),
            (3, b"lo", false),
        ]
        .into_iter()
        .enumerate()
        {
            let offset = if data == b"rld" { 7 } else { offset };
            assembly.push(offset, data, fin, place as u64, &mut |ordered| {
                let Ordered::Bytes(bytes, at) = ordered else {
                    panic!("nothing is missing");
                };
                text.extend_from_slice(bytes);
                places.push(at);
            });
        }
        assert_eq!(
            (text.as_slice(), assembly.is_over()),
            (&b"hello"[..], false)
        );
        assembly.push(5, b"wo", false, 9, &mut |ordered| {
            if let Ordered::Bytes(bytes, at) = ordered {
                text.extend_from_slice(bytes);
                places.push(at);
            }
        });
        assert_eq!(
            (text.as_slice(), assembly.is_over()),
            (&b"helloworld"[..], true)
        );
        // Data that waited was captured before, but could be read only when the rest had come.
        assert_eq!(places, [2..2, 1..2, 4..4, 9..9, 0..9]);
    }

    #[test]
    fn pieces_without_bytes_take_memory_as_well() {
        let mut assembly = Assembly::default();
        for number in 1..100_000_u64 {
            assembly.push(number * 10, b"", false, 0, &mut |_| {});
            assert!(assembly.held.len() <= MAX_HELD / PER_PIECE);
        }
    }

    #[test]
    fn missing_bytes_are_skipped_when_too_many_wait() {
        let mut assembly = Assembly::default();
        let (mut missing, mut bytes) = (0, 0);
        let piece = [7; 1000];
        for number in 1..2000_u64 {
            assembly.push(
                number * 1000,
                &piece,
                false,
                0,
                &mut |ordered| match ordered {
                    Ordered::Bytes(piece, _) => bytes += piece.len() as u64,
                    Ordered::Missing(length, _) => missing += length,
                },
            );
        }
        assert_eq!((missing, bytes), (1000, 1_999_000));
    }
}
