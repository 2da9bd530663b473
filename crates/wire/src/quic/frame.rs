//! Frames: the content of packets. RFC 9000 §19, RFC 9221, draft-ietf-quic-ack-frequency.

mod ack;
mod read;
mod write;

pub use ack::{Ack, write_ack};
pub use read::{Frames, has_long_type};
pub use write::{stream_header_size, write_stream_header};

use super::ConnectionId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A run of padding of this many bytes.
    Padding(usize),
    Ping,
    Ack(Ack<'a>),
    ResetStream {
        id: u64,
        code: u64,
        size: u64,
    },
    StopSending {
        id: u64,
        code: u64,
    },
    Crypto {
        offset: u64,
        data: &'a [u8],
    },
    NewToken(&'a [u8]),
    Stream {
        id: u64,
        offset: u64,
        data: &'a [u8],
        fin: bool,
    },
    MaxData(u64),
    MaxStreamData {
        id: u64,
        limit: u64,
    },
    MaxStreams {
        bidi: bool,
        limit: u64,
    },
    DataBlocked(u64),
    StreamDataBlocked {
        id: u64,
        limit: u64,
    },
    StreamsBlocked {
        bidi: bool,
        limit: u64,
    },
    NewConnectionId {
        sequence: u64,
        retire_prior_to: u64,
        id: ConnectionId,
        reset_token: [u8; 16],
    },
    RetireConnectionId(u64),
    PathChallenge([u8; 8]),
    PathResponse([u8; 8]),
    Close {
        /// 0x0100 and above carry a TLS alert in the low byte. RFC 9001 §4.8.
        code: u64,
        /// The type of the frame that caused the error; `None` if the application closed.
        frame: Option<u64>,
        reason: &'a [u8],
    },
    HandshakeDone,
    AckFrequency {
        sequence: u64,
        threshold: u64,
        max_delay_us: u64,
        reordering: u64,
    },
    ImmediateAck,
    Datagram(&'a [u8]),
}

/// The kinds of packets that differ in the frames they may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PacketKind {
    Initial,
    ZeroRtt,
    Handshake,
    OneRtt,
}

impl Frame<'_> {
    /// The frame type. RFC 9000 §19.
    pub fn kind(&self) -> u64 {
        match self {
            Self::Padding(_) => 0x00,
            Self::Ping => 0x01,
            Self::Ack(ack) => 0x02 + u64::from(ack.ecn.is_some()),
            Self::ResetStream { .. } => 0x04,
            Self::StopSending { .. } => 0x05,
            Self::Crypto { .. } => 0x06,
            Self::NewToken(_) => 0x07,
            // The frame as it would be written: with a length, and with an offset unless that is 0.
            Self::Stream { offset, fin, .. } => {
                0x0a | u64::from(*offset != 0) << 2 | u64::from(*fin)
            }
            Self::MaxData(_) => 0x10,
            Self::MaxStreamData { .. } => 0x11,
            Self::MaxStreams { bidi, .. } => 0x13 - u64::from(*bidi),
            Self::DataBlocked(_) => 0x14,
            Self::StreamDataBlocked { .. } => 0x15,
            Self::StreamsBlocked { bidi, .. } => 0x17 - u64::from(*bidi),
            Self::NewConnectionId { .. } => 0x18,
            Self::RetireConnectionId(_) => 0x19,
            Self::PathChallenge(_) => 0x1a,
            Self::PathResponse(_) => 0x1b,
            Self::Close { frame, .. } => 0x1d - u64::from(frame.is_some()),
            Self::HandshakeDone => 0x1e,
            Self::ImmediateAck => 0x1f,
            Self::Datagram(_) => 0x31,
            Self::AckFrequency { .. } => 0xaf,
        }
    }

    /// Whether the frame is ack-eliciting. RFC 9002 §2.
    #[inline]
    pub fn is_ack_eliciting(&self) -> bool {
        !matches!(self, Self::Padding(_) | Self::Ack(_) | Self::Close { .. })
    }

    /// Whether this is a probing frame: a packet with only such frames does not migrate the
    /// connection. RFC 9000 §9.1.
    #[inline]
    pub fn is_probing(&self) -> bool {
        matches!(
            self,
            Self::Padding(_)
                | Self::PathChallenge(_)
                | Self::PathResponse(_)
                | Self::NewConnectionId { .. }
        )
    }

    /// Whether a packet of that kind may carry the frame. RFC 9000 §12.4 and §12.5.
    #[inline]
    pub fn is_allowed(&self, kind: PacketKind) -> bool {
        match kind {
            PacketKind::OneRtt => true,
            PacketKind::Initial | PacketKind::Handshake => matches!(
                self,
                Self::Padding(_)
                    | Self::Ping
                    | Self::Ack(_)
                    | Self::Crypto { .. }
                    | Self::Close { frame: Some(_), .. }
            ),
            PacketKind::ZeroRtt => !matches!(
                self,
                Self::Ack(_)
                    | Self::Crypto { .. }
                    | Self::NewToken(_)
                    | Self::PathResponse(_)
                    | Self::RetireConnectionId(_)
                    | Self::HandshakeDone
            ),
        }
    }
}
