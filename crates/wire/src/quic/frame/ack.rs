//! ACK frames: the received packets, as ranges from the highest number down. RFC 9000 §19.3.

use std::ops::RangeInclusive;

use super::super::pen::{MAX_VARINT, Pen, varint_size};
use super::super::reader::VarintReader;
use super::{Frame, Frames};
use crate::{Error, Result};

/// The ranges were checked during parsing; they stay in encoded form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ack<'a> {
    pub largest: u64,
    /// The delay in the sender's units: see its `ack_delay_exponent`.
    pub delay: u64,
    /// The number of packets that arrived with ECT(0), ECT(1) and CE. RFC 9000 §19.3.2.
    pub ecn: Option<[u64; 3]>,
    /// The number of packets below `largest` in the first range.
    first: u64,
    /// The number of pairs of a gap and a length in `rest`.
    count: u64,
    rest: &'a [u8],
}

impl<'a> Ack<'a> {
    /// Parses a single ACK frame, including its type.
    pub fn parse(frame: &'a [u8]) -> Result<Self> {
        let mut frames = Frames::new(frame);
        match (frames.next(), frames.next()) {
            (Some(Ok(Frame::Ack(ack))), None) => Ok(ack),
            (Some(Err(error)), _) => Err(error),
            _ => Err(Error::malformed("QUIC frame", "it is not one ACK")),
        }
    }

    /// The ranges of acknowledged packet numbers, from the highest down.
    #[inline]
    pub fn ranges(&self) -> Ranges<'a> {
        Ranges {
            next: Some(self.largest.saturating_sub(self.first)..=self.largest),
            left: self.count,
            rest: VarintReader::new(self.rest),
        }
    }

    /// Parses the part after the type. `Err` says what is wrong.
    pub(super) fn read(
        reader: &mut VarintReader<'a>,
        with_ecn: bool,
    ) -> std::result::Result<Self, &'static str> {
        const SHORT: &str = "an ACK is cut short";
        const BELOW: &str = "an ACK reaches below packet number 0";
        let largest = reader.varint().ok_or(SHORT)?;
        let delay = reader.varint().ok_or(SHORT)?;
        let count = reader.varint().ok_or(SHORT)?;
        let first = reader.varint().ok_or(SHORT)?;
        let mut smallest = largest.checked_sub(first).ok_or(BELOW)?;
        let rest = reader.rest();
        for _ in 0..count {
            let gap = reader.varint().ok_or(SHORT)?;
            let length = reader.varint().ok_or(SHORT)?;
            let top = smallest.checked_sub(gap + 2).ok_or(BELOW)?;
            smallest = top.checked_sub(length).ok_or(BELOW)?;
        }
        let rest = rest
            .get(..rest.len() - reader.rest().len())
            .unwrap_or_default();
        let ecn = if with_ecn {
            let mut count = || reader.varint().ok_or(SHORT);
            Some([count()?, count()?, count()?])
        } else {
            None
        };
        Ok(Self {
            largest,
            delay,
            ecn,
            first,
            count,
            rest,
        })
    }

    pub(super) fn size(&self) -> usize {
        let head = [self.largest, self.delay, self.count, self.first];
        let sizes = head.iter().chain(self.ecn.iter().flatten());
        1 + sizes.map(|n| varint_size(*n)).sum::<usize>() + self.rest.len()
    }

    pub(super) fn write(&self, pen: &mut Pen<'_>) -> bool {
        let head = [self.largest, self.delay, self.count, self.first];
        pen.room() >= self.size()
            && pen.u8(0x02 + u8::from(self.ecn.is_some()))
            && head.into_iter().all(|n| pen.varint(n))
            && pen.bytes(self.rest)
            && self.ecn.iter().flatten().all(|n| pen.varint(*n))
    }
}

/// See [`Ack::ranges`].
#[derive(Debug, Clone)]
pub struct Ranges<'a> {
    next: Option<RangeInclusive<u64>>,
    left: u64,
    rest: VarintReader<'a>,
}

impl Ranges<'_> {
    #[inline]
    fn below(&mut self, smallest: u64) -> Option<RangeInclusive<u64>> {
        self.left = self.left.checked_sub(1)?;
        let gap = self.rest.varint()?;
        let length = self.rest.varint()?;
        let top = smallest.checked_sub(gap + 2)?;
        Some(top.checked_sub(length)?..=top)
    }
}

impl Iterator for Ranges<'_> {
    type Item = RangeInclusive<u64>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let range = self.next.take()?;
        self.next = self.below(*range.start());
        Some(range)
    }
}

/// The count of ranges takes one byte, so at most this many can follow the first.
const MAX_MORE_RANGES: u8 = 63;

/// Writes an ACK frame with as many of the `ranges` as fit. The caller passes them from the highest
/// down; they do not touch. Returns `false`, and writes nothing, if there is no range or even the
/// first does not fit.
pub fn write_ack(
    pen: &mut Pen<'_>,
    delay: u64,
    mut ranges: impl Iterator<Item = RangeInclusive<u64>>,
    ecn: Option<[u64; 3]>,
) -> bool {
    let Some(first) = ranges.next() else {
        return false;
    };
    let delay = delay.min(MAX_VARINT);
    let ecn = ecn.map(|counts| counts.map(|n| n.min(MAX_VARINT)));
    let behind: usize = ecn.iter().flatten().map(|n| varint_size(*n)).sum();
    let (mut smallest, largest) = first.into_inner();
    let Some(length) = largest.checked_sub(smallest) else {
        return false;
    };
    let head = 1 + varint_size(largest) + varint_size(delay) + 1 + varint_size(length);
    if largest > MAX_VARINT || pen.room() < head + behind {
        return false;
    }
    pen.u8(0x02 + u8::from(ecn.is_some()));
    pen.varint(largest);
    pen.varint(delay);
    // The position of the count, which is filled in below.
    let count_at = pen.position();
    pen.u8(0);
    pen.varint(length);
    let mut count = 0;
    for range in ranges {
        let (low, high) = range.into_inner();
        let (Some(gap), Some(length)) = (
            smallest.checked_sub(high).and_then(|n| n.checked_sub(2)),
            high.checked_sub(low),
        ) else {
            break;
        };
        let size = varint_size(gap) + varint_size(length);
        if count == MAX_MORE_RANGES || pen.room() < size + behind {
            break;
        }
        pen.varint(gap);
        pen.varint(length);
        smallest = low;
        count += 1;
    }
    pen.set(count_at, count);
    ecn.iter().flatten().all(|n| pen.varint(*n))
}
