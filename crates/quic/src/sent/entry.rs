//! One packet in the ring: 32 bytes, half a cache line.

use super::Chunk;

/// Sent, but neither acknowledged nor lost.
pub(crate) const OUTSTANDING: u8 = 1;
/// Declared lost; remembered for a while in case it still comes.
pub(crate) const LOST: u8 = 1 << 1;
/// Acknowledged, and so are all numbers from its own up to `offset`, which is excluded.
pub(crate) const ACKED: u8 = 1 << 2;
/// The number was never used: a peer that acknowledges it lies. RFC 9000 §21.4. It is the same as
/// no flag at all.
pub(crate) const SKIPPED: u8 = 0;
pub(crate) const ELICITING: u8 = 1 << 3;
pub(crate) const FIN: u8 = 1 << 4;
/// The packet left with ECT(0).
pub(crate) const MARKED: u8 = 1 << 5;
/// Larger than the path is known to carry: a probe for the path's MTU.
pub(crate) const MTU_PROBE: u8 = 1 << 6;
/// A probe timeout has already had its content sent again; this is not done twice.
pub(crate) const REQUEUED: u8 = 1 << 7;

const NO_STREAM: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct SentPacket {
    /// The offset of the stream data. In an acknowledged entry: the next number above it that may
    /// be unacknowledged.
    pub(crate) offset: u64,
    slot: u32,
    /// The burst that the packet left with.
    pub(crate) burst: u32,
    /// The packet's first item in the slab, 0 for none.
    pub(crate) items: u32,
    length: u16,
    /// The packet's bytes in flight, 0 if it elicits no acknowledgement.
    pub(crate) size: u16,
    pub(crate) flags: u8,
    /// The congestion event that the packet's loss belongs to.
    pub(crate) episode: u8,
}

const _: () = assert!(size_of::<SentPacket>() == 32);

impl SentPacket {
    pub(crate) const GAP: Self = Self {
        offset: 0,
        slot: NO_STREAM,
        burst: 0,
        items: 0,
        length: 0,
        size: 0,
        flags: SKIPPED,
        episode: 0,
    };

    #[inline]
    pub(crate) fn new(chunk: Option<Chunk>, burst: u32, items: u32, size: u16, flags: u8) -> Self {
        let chunk = chunk.unwrap_or(Chunk {
            slot: NO_STREAM,
            offset: 0,
            length: 0,
            fin: false,
        });
        Self {
            offset: chunk.offset,
            slot: chunk.slot,
            burst,
            items,
            length: chunk.length as u16,
            size,
            flags: flags | (FIN * u8::from(chunk.fin)),
            episode: 0,
        }
    }

    #[inline]
    pub(crate) fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The run of stream data in the packet. Only meaningful while the packet is unacknowledged.
    #[inline]
    pub(crate) fn chunk(&self) -> Option<Chunk> {
        (self.slot != NO_STREAM).then_some(Chunk {
            slot: self.slot,
            offset: self.offset,
            length: u32::from(self.length),
            fin: self.is(FIN),
        })
    }
}

/// Consecutive runs of one stream, joined as they come.
#[derive(Debug)]
pub(crate) struct Runs {
    run: Chunk,
}

impl Runs {
    pub(crate) fn new() -> Self {
        let run = Chunk {
            slot: NO_STREAM,
            offset: 0,
            length: 0,
            fin: false,
        };
        Self { run }
    }

    #[inline]
    pub(crate) fn add(&mut self, entry: &SentPacket, to: &mut Vec<Chunk>) {
        let run = &mut self.run;
        let follows = entry.slot == run.slot && entry.offset == run.offset + u64::from(run.length);
        if follows && run.length < u32::MAX / 2 && entry.slot != NO_STREAM {
            run.length += u32::from(entry.length);
            run.fin |= entry.is(FIN);
        } else if let Some(chunk) = entry.chunk() {
            let before = std::mem::replace(run, chunk);
            if before.slot != NO_STREAM {
                to.push(before);
            }
        }
    }

    pub(crate) fn end(self, to: &mut Vec<Chunk>) {
        if self.run.slot != NO_STREAM {
            to.push(self.run);
        }
    }
}
