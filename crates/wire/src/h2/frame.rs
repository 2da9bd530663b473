//! The layout of frames. RFC 9113 §4.1 and §6.

use super::code::{Code, ConnectionError};

/// The client's first bytes. RFC 9113 §3.4.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(super) const HEAD: usize = 9;
/// The largest accepted payload of a frame, which every peer must accept, too. RFC 9113 §4.2.
pub(super) const MAX_PAYLOAD: usize = 16_384;
/// RFC 9113 §6.9.1.
pub(super) const MAX_WINDOW: i64 = (1 << 31) - 1;
/// The window of a peer that has set none. RFC 9113 §6.9.2.
pub(super) const INITIAL_WINDOW: i64 = 65_535;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const END_STREAM: u8 = 0x1;
/// The flag of SETTINGS and PING.
pub(super) const ACK: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const WITH_PRIORITY: u8 = 0x20;

/// RFC 9113 §6.5.2, RFC 8441 §3.
pub(super) const HEADER_TABLE_SIZE: u16 = 1;
pub(super) const ENABLE_PUSH: u16 = 2;
pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(super) const MAX_FRAME_SIZE: u16 = 5;
pub(super) const MAX_HEADER_LIST_SIZE: u16 = 6;
pub(super) const ENABLE_CONNECT_PROTOCOL: u16 = 8;

/// A number of bytes, as windows count them.
pub(super) fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Removes used bytes from the front once they are at least half of the buffer. Otherwise a buffer
/// that never becomes empty would grow.
pub(super) fn drop_used(bytes: &mut Vec<u8>, used: &mut usize) {
    if *used >= bytes.len().saturating_sub(*used) {
        bytes.drain(..(*used).min(bytes.len()));
        *used = 0;
    }
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHead {
    pub(super) fn parse(bytes: [u8; HEAD]) -> Result<Self, ConnectionError> {
        let [l0, l1, l2, kind, flags, stream @ ..] = bytes;
        let length = u32::from_be_bytes([0, l0, l1, l2]) as usize;
        if length > MAX_PAYLOAD {
            return Err(Code::FRAME_SIZE_ERROR.because("a frame that is too large"));
        }
        let stream = u32::from_be_bytes(stream) & 0x7fff_ffff;
        Ok(Self {
            length,
            kind,
            flags,
            stream,
        })
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        let length = u32::try_from(self.length).unwrap_or(u32::MAX).to_be_bytes();
        out.extend_from_slice(&length[1..]);
        out.extend_from_slice(&[self.kind, self.flags]);
        out.extend_from_slice(&self.stream.to_be_bytes());
    }
}

/// The content of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    /// A part of a DATA frame: the parts of one frame follow each other.
    Data {
        stream: u32,
        bytes: &'a [u8],
        /// The size that counts against the windows: `bytes`, and padding.
        counted: usize,
        end_stream: bool,
        /// The frame carries neither data nor the end of the stream.
        is_useless: bool,
    },
    /// A whole header block, from HEADERS and CONTINUATION.
    Headers {
        stream: u32,
        block: std::borrow::Cow<'a, [u8]>,
        end_stream: bool,
        depends_on_itself: bool,
    },
    /// `false`: the frame has the wrong length, or the stream depends on itself.
    Priority {
        stream: u32,
        broken: Option<Code>,
    },
    Reset {
        stream: u32,
        code: Code,
    },
    Settings(&'a [u8]),
    SettingsAck,
    Ping([u8; 8]),
    PingAck([u8; 8]),
    GoAway,
    WindowUpdate {
        stream: u32,
        increment: u32,
    },
    Unknown,
}
