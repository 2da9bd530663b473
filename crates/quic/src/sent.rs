//! What packets carried, and the ring of those that nobody has acknowledged yet.
//!
//! A packet costs one entry of 32 bytes: it holds the one run of stream data that almost every
//! packet carries. Whatever else a packet carried lies aside, as `Item`s in a slab. When it left,
//! and how fast the path was then, is kept once for each burst. What is done about an
//! acknowledgement or a loss belongs to `recovery`.

mod bursts;
pub(crate) mod entry;
mod items;
mod ring;

pub(crate) use bursts::{Burst, Bursts};
pub(crate) use entry::Entry;
pub(crate) use items::Items;
pub(crate) use ring::Ring;

/// A run of one stream's bytes, of one packet or of neighbours put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Chunk {
    /// Where `streams` keeps the stream. Never `u32::MAX`.
    pub(crate) slot: u32,
    pub(crate) offset: u64,
    /// In one packet less than 65 536.
    pub(crate) length: u32,
    /// The run ends the stream.
    pub(crate) fin: bool,
}

/// What a packet carried beside its run of stream data: enough to send it again, or to know that it
/// has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Item {
    /// Its level follows from the space: 0-RTT packets carry none. RFC 9000 §12.5.
    Crypto {
        offset: u64,
        length: u16,
    },
    /// A run of stream data beyond the packet's first.
    Stream(Chunk),
    /// An ACK frame that reached up to there.
    Ack {
        largest: u64,
    },
    ResetStream(u64),
    StopSending(u64),
    MaxData,
    MaxStreamData(u64),
    MaxStreams {
        bidi: bool,
    },
    DataBlocked,
    StreamDataBlocked(u64),
    StreamsBlocked {
        bidi: bool,
    },
    /// By its sequence number.
    NewConnectionId(u64),
    /// By its sequence number.
    RetireConnectionId(u64),
    /// By its place among those that were given.
    NewToken(u8),
    HandshakeDone,
    PathChallenge([u8; 8]),
    PathResponse,
    /// By its sequence number.
    AckFrequency(u64),
    Ping,
    /// The packet is as large as this to find out whether the path carries it; its loss says
    /// nothing of congestion.
    MtuProbe(u16),
}
