//! One TCP segment as a capture shows it: facts only, without its bytes.

use roundtrip_wire::link::LinkDirection;
use roundtrip_wire::packet::{Ecn, Flags, IpVersion, OptionValue, Packet, Tcp};

/// Two copies of one packet are captured within this many nanoseconds. The second value is for
/// packets without identification: they may be different packets that look the same.
const SAME_PACKET: u64 = 5_000_000;
const SAME_UNNUMBERED: u64 = 500_000;

/// The end of a connection that sent something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }

    #[must_use]
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeenSegment {
    /// The number of the frame in its file, from 1.
    pub(crate) frame: u64,
    /// When the segment was captured, in nanoseconds since 1970.
    pub(crate) at: u64,
    pub(crate) from: Side,
    pub(crate) sequence: u32,
    pub(crate) acknowledgment: u32,
    pub(crate) flags: Flags,
    /// Bytes of data on the wire.
    pub(crate) length: u32,
    /// The window as in the header, not scaled.
    pub(crate) window: u16,
    /// The segment acknowledges data that was received twice. RFC 2883 §4.
    pub(crate) is_duplicate_sack: bool,
    /// The sender's timestamp, and the peer's timestamp that it echoes. RFC 7323 §3.
    pub(crate) stamps: Option<(u32, u32)>,
    pub(crate) hop_limit: u8,
    pub(crate) congested: bool,
    /// The packet's identification; zero if it has none.
    pub(crate) id: u16,
    /// The flow label of IPv6; zero if it has none.
    pub(crate) label: u32,
    pub(crate) way: Option<LinkDirection>,
}

/// The options that only a SYN has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SynOptions {
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) has_stamps: bool,
    pub(crate) asks_for_ecn: bool,
    /// Whether the fast open option is there, and how long its cookie is.
    pub(crate) fast_open: Option<usize>,
}

impl SeenSegment {
    pub(crate) fn new(
        frame: u64,
        at: u64,
        from: Side,
        way: Option<LinkDirection>,
        packet: &Packet<'_>,
        tcp: &Tcp<'_>,
    ) -> Self {
        let mut is_duplicate_sack = false;
        let mut stamps = None;
        for option in tcp.options() {
            if let OptionValue::Timestamps { value, echo } = option.value {
                stamps = Some((value, echo));
            }
            if matches!(option.value, OptionValue::Sack(_)) {
                let mut blocks = option.sack_blocks();
                let (first, second) = (blocks.next(), blocks.next());
                is_duplicate_sack = first.is_some_and(|first| {
                    is_before(first.0, tcp.acknowledgment())
                        || second.is_some_and(|second| {
                            !is_before(first.0, second.0) && !is_before(second.1, first.1)
                        })
                });
            }
        }
        Self {
            frame,
            at,
            from,
            sequence: tcp.sequence(),
            acknowledgment: tcp.acknowledgment(),
            flags: tcp.flags(),
            length: u32::try_from(tcp.payload_length()).unwrap_or(u32::MAX),
            window: tcp.window(),
            is_duplicate_sack,
            stamps,
            hop_limit: packet.hop_limit(),
            congested: packet.ecn() == Ecn::CongestionExperienced,
            id: match packet.version() {
                IpVersion::V4 => packet.fragment().identification as u16,
                IpVersion::V6 => 0,
            },
            label: packet.flow_label(),
            way,
        }
    }

    /// Whether this is the same packet as an earlier one, captured at another place of the same
    /// host or network. If the sender had sent it again, it would have another identification, or
    /// be later.
    pub(crate) fn is_copy_of(&self, other: &Self) -> bool {
        let apart = self.at.saturating_sub(other.at);
        let known = self.id != 0 || self.way != other.way || self.hop_limit != other.hop_limit;
        apart <= if known { SAME_PACKET } else { SAME_UNNUMBERED }
            && self.id == other.id
            && self.from == other.from
            && (self.sequence, self.acknowledgment) == (other.sequence, other.acknowledgment)
            && (self.flags, self.length) == (other.flags, other.length)
            && (self.window, self.stamps) == (other.window, other.stamps)
    }

    pub(crate) fn is_syn(&self) -> bool {
        self.flags.contains(Flags::SYN)
    }

    pub(crate) fn is_fin(&self) -> bool {
        self.flags.contains(Flags::FIN)
    }

    pub(crate) fn is_reset(&self) -> bool {
        self.flags.contains(Flags::RST)
    }

    pub(crate) fn acknowledges(&self) -> bool {
        self.flags.contains(Flags::ACK)
    }
}

impl SynOptions {
    pub(crate) fn from_tcp(tcp: &Tcp<'_>) -> Self {
        let mut options = Self {
            asks_for_ecn: tcp.flags().contains(Flags::ECE),
            ..Self::default()
        };
        for option in tcp.options() {
            match option.value {
                OptionValue::MaximumSegmentSize(mss) => options.mss = Some(mss),
                OptionValue::WindowScale(shift) => options.window_scale = Some(shift.min(14)),
                OptionValue::Timestamps { .. } => options.has_stamps = true,
                OptionValue::FastOpen { cookie, .. } => options.fast_open = Some(cookie.len()),
                _ => {}
            }
        }
        options
    }
}

/// Whether one sequence number comes before another. RFC 9293 §3.4.
pub(crate) fn is_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

/// Whether a segment that begins at `start` only asks whether the peer is there: it repeats the
/// last byte of what was sent, which is acknowledged. RFC 9293 §3.8.4.
pub(crate) fn is_keep_alive(sight: &SeenSegment, start: u64, sent: u64, acknowledged: u64) -> bool {
    sight.length == 1 && start + 1 == sent && acknowledged >= sent
}
