//! The received bytes of one stream behind a gap, in pieces: the gap takes no memory.

use std::collections::BTreeMap;

use super::ring::Spares;
use crate::Time;

/// A longer piece is not extended, so that little is copied when its memory grows.
const MAX_PIECE: usize = 16 << 10;
/// The memory that a piece takes in addition to its bytes.
const PIECE_COST: usize = 96;

#[derive(Debug, Default)]
pub(super) struct Pieces(BTreeMap<u64, Piece>);

#[derive(Debug)]
struct Piece {
    bytes: Vec<u8>,
    /// When the first of the pieces arrived.
    arrived: Time,
}

/// The memory that all pieces of a connection take.
#[derive(Debug, Default)]
pub(super) struct PiecesUsage {
    pub(super) count: usize,
    bytes: usize,
}

impl PiecesUsage {
    pub(super) fn memory(&self) -> usize {
        self.bytes + self.count * PIECE_COST
    }
}

impl Pieces {
    /// Stores the new parts of `data`.
    pub(super) fn insert(
        &mut self,
        mut offset: u64,
        mut data: &[u8],
        now: Time,
        spares: &mut Spares,
    ) {
        let usage = &mut spares.pieces;
        while !data.is_empty() {
            let next = self.0.range(offset + 1..).next();
            let gap = next.map_or(u64::MAX, |(start, _)| start - offset);
            let (fresh, _) =
                data.split_at(data.len().min(usize::try_from(gap).unwrap_or(usize::MAX)));
            let before = self.0.range_mut(..=offset).next_back();
            let taken = match before {
                Some((start, piece)) if start + piece.bytes.len() as u64 > offset => {
                    let known = start + piece.bytes.len() as u64 - offset;
                    fresh
                        .len()
                        .min(usize::try_from(known).unwrap_or(usize::MAX))
                }
                Some((start, piece))
                    if start + piece.bytes.len() as u64 == offset
                        && piece.bytes.len() + fresh.len() <= MAX_PIECE =>
                {
                    usage.bytes -= piece.bytes.capacity();
                    piece.bytes.extend_from_slice(fresh);
                    usage.bytes += piece.bytes.capacity();
                    fresh.len()
                }
                _ => {
                    let bytes = fresh.to_vec();
                    usage.bytes += bytes.capacity();
                    usage.count += 1;
                    let arrived = now;
                    self.0.insert(offset, Piece { bytes, arrived });
                    fresh.len()
                }
            };
            offset += taken as u64;
            data = data.get(taken..).unwrap_or_default();
        }
    }

    /// Removes the first piece if it starts at or before `offset`.
    pub(super) fn take(&mut self, offset: u64, spares: &mut Spares) -> Option<(u64, Vec<u8>)> {
        let first = self
            .0
            .first_entry()
            .filter(|first| *first.key() <= offset)?;
        let (start, piece) = first.remove_entry();
        spares.pieces.count -= 1;
        spares.pieces.bytes -= piece.bytes.capacity();
        Some((start, piece.bytes))
    }

    pub(super) fn clear(&mut self, spares: &mut Spares) {
        while self.take(u64::MAX, spares).is_some() {}
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When the oldest of the pieces arrived.
    pub(super) fn since(&self) -> Option<Time> {
        self.0.values().map(|piece| piece.arrived).min()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_hold_each_byte_once(steps in prop::collection::vec((0..60u64, 1..20u64, any::<bool>()), 1..60)) {
            let (mut pieces, mut spares) = (Pieces::default(), Spares::default());
            let mut model = [false; 80];
            for (start, length, takes) in steps {
                let data: Vec<u8> = (start..start + length).map(|at| at as u8).collect();
                pieces.insert(start, &data, Time::ZERO, &mut spares);
                model[start as usize..(start + length) as usize].fill(true);
                if takes && let Some((start, bytes)) = pieces.take(start, &mut spares) {
                    for (at, byte) in (start..).zip(bytes) {
                        prop_assert_eq!(u64::from(byte), at);
                        prop_assert!(std::mem::take(&mut model[at as usize]));
                    }
                }
                let count: usize = pieces.0.values().map(|piece| piece.bytes.len()).sum();
                prop_assert_eq!(count, model.iter().filter(|held| **held).count());
                prop_assert_eq!(spares.pieces.count, pieces.len());
                prop_assert!(spares.pieces.bytes >= count);
            }
            pieces.clear(&mut spares);
            prop_assert_eq!(spares.pieces.memory(), 0);
        }
    }

    #[test]
    fn data_in_order_behind_a_gap_makes_few_pieces() {
        let (mut pieces, mut spares) = (Pieces::default(), Spares::default());
        for number in 0..1000 {
            pieces.insert(1 + 1000 * number, &[0; 1000], Time(number), &mut spares);
        }
        assert_eq!((pieces.len(), pieces.since()), (63, Some(Time(0))));
        assert!(spares.pieces.memory() < 1_200_000, "{:?}", spares.pieces);
    }
}
