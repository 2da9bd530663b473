//! One complete connection: what it carried, where it was captured, and what cannot be decided from
//! that place.

use std::net::SocketAddr;
use std::time::Duration;

use roundtrip_model::Exchange;
use roundtrip_wire::passive::SealedReason;

use crate::vantage::Vantage;

/// A connection and its exchanges.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// The number of the connection, from 1, in the order in which connections began.
    pub number: u64,
    pub client: SocketAddr,
    pub server: SocketAddr,
    pub carrier: Carrier,
    /// The capture's interface.
    pub interface: u32,
    pub vantage: Vantage,
    pub exchanges: Vec<Exchange>,
    /// Requests that are not explained, because too many were under way at the same time.
    pub left_out: u64,
    /// The first and the last frame, and how many there are.
    pub frames: (u64, u64),
    pub packets: u64,
    /// The segments or datagrams that the client and the server sent again, as far as they were
    /// seen.
    pub sent_again: [u64; 2],
    /// When the first frame was captured, in nanoseconds since 1970.
    pub began: u64,
    /// The requests were seen only as bursts of encrypted bytes, which may hold several each.
    pub is_inferred: bool,
    /// The facts that the capture does not show, and what would show them.
    pub undecidable: Vec<Undecidable>,
    /// The random of the ClientHello, which identifies the session in a key log, if there was one.
    pub session: Option<[u8; 32]>,
    /// Further facts from a second capture.
    pub located: Option<Located>,
    /// The segments, for the ladder.
    pub steps: Vec<LadderStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carrier {
    Tcp,
    Quic,
}

impl Carrier {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Quic => "quic",
        }
    }
}

/// A question that a capture cannot answer, and what could answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undecidable {
    pub what: &'static str,
    pub needs: &'static str,
}

impl Undecidable {
    /// What somebody needs to decrypt a connection that could not be decrypted for this reason.
    pub(crate) fn keys(sealed: Option<SealedReason>) -> &'static str {
        match sealed {
            None => "the session's keys (--keys, from SSLKEYLOGFILE)",
            Some(SealedReason::NoHello) => "a capture from before the connection",
            Some(SealedReason::NoKeys) => "a key log with the keys of this session",
            Some(SealedReason::Cut) => "a capture that keeps whole packets",
            Some(SealedReason::Cipher) => "a supported cipher: AES-GCM or ChaCha20",
            Some(SealedReason::WrongKeys) => "keys that fit: those of the key log do not",
        }
    }
}

/// One packet of a ladder.
#[derive(Debug, Clone, PartialEq)]
pub struct LadderStep {
    pub frame: u64,
    /// The capture time in nanoseconds since 1970.
    pub at: u64,
    pub from_client: bool,
    pub text: String,
    /// The packet's offset in the stream of its side.
    pub(crate) place: Option<u64>,
    /// The number of bytes of data in the packet.
    pub bytes: u64,
    /// Whether the packet is only data or an acknowledgement.
    pub is_plain: bool,
    /// Whether the packet was sent before.
    pub again: bool,
    /// What happened to the packet at the other capture, if there are two.
    pub elsewhere: Option<Elsewhere>,
}

/// When another capture has the packet (on the clock of this capture), and as which frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    At { at: u64, frame: u64 },
    Never,
}

/// What two captures show about one connection: for each side, how many packets left that carry
/// data or begin or end the connection, and the frames of those that never reached the other
/// capture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Located {
    /// The round trip between both captures.
    pub between: Duration,
    pub from_client: (u64, Vec<u64>),
    pub from_server: (u64, Vec<u64>),
    /// How long the server's end took to answer, in total.
    pub server: Duration,
}
