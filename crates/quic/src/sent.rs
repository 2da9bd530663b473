//! What packets carried, and the ring of those that are not acknowledged yet.
//!
//! A packet costs one entry of 32 bytes: it holds the one run of stream data that almost every
//! packet carries. Anything else that a packet carried is stored as `SentFrame`s in a slab. When
//! the packet left, and how fast the path was then, is kept once for each burst. `recovery` acts on
//! acknowledgements and losses.

mod bursts;
pub(crate) mod entry;
mod items;
mod ring;

pub(crate) use bursts::{Bursts, SentBurst};
pub(crate) use entry::SentPacket;
pub(crate) use items::Items;
pub(crate) use ring::SentRing;

/// A run of one stream's bytes, from one packet or joined from consecutive ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Chunk {
    /// The slot of the stream in `streams`. Never `u32::MAX`.
    pub(crate) slot: u32,
    pub(crate) offset: u64,
    /// The number of bytes; below 65 536 in one packet.
    pub(crate) length: u32,
    /// The run ends the stream.
    pub(crate) fin: bool,
}

/// A frame of a packet, other than its run of stream data: enough to send it again, or to recognize
/// its arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SentFrame {
    /// Handshake bytes. The space determines their level: 0-RTT packets carry none. RFC 9000 §12.5.
    Crypto {
        offset: u64,
        length: u16,
    },
    /// A run of stream data after the packet's first.
    Stream(Chunk),
    /// An ACK frame that reached up to this number.
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
    /// An id that was announced, by its sequence number.
    NewConnectionId(u64),
    /// An id that was retired, by its sequence number.
    RetireConnectionId(u64),
    /// A token, by its index among the tokens given.
    NewToken(u8),
    HandshakeDone,
    PathChallenge([u8; 8]),
    PathResponse,
    /// A request, by its sequence number.
    AckFrequency(u64),
    Ping,
    /// A probe of this size, to find out whether the path carries it; its loss says nothing about
    /// congestion.
    MtuProbe(u16),
}
