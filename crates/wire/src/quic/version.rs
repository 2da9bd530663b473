//! QUIC versions: the differences between 1 and 2. RFC 9000 §15, RFC 9369 §3.

use std::fmt;

use super::LongKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version(pub u32);

impl Version {
    pub const V1: Self = Self(0x0000_0001);
    pub const V2: Self = Self(0x6b33_43cf);

    /// Whether the version is sent only to provoke version negotiation. RFC 9000 §15.
    pub fn is_grease(self) -> bool {
        self.0 & 0x0f0f_0f0f == 0x0a0a_0a0a
    }

    /// Whether packets of this version can be parsed and written.
    pub fn is_known(self) -> bool {
        matches!(self, Self::V1 | Self::V2)
    }

    /// The kind of a long header, from its two type bits. RFC 9000 §17.2, RFC 9369 §3.2.
    pub(super) fn long_kind(self, bits: u8) -> Option<LongKind> {
        let numbered = if self == Self::V2 {
            bits.wrapping_sub(1) & 0b11
        } else {
            bits & 0b11
        };
        match numbered {
            0 => Some(LongKind::Initial),
            1 => Some(LongKind::ZeroRtt),
            2 => Some(LongKind::Handshake),
            // A Retry, which is not a protected packet.
            _ => None,
        }
    }

    /// The two type bits of a long header; those of a Retry if `kind` is `None`.
    pub(super) fn long_bits(self, kind: Option<LongKind>) -> u8 {
        let numbered = match kind {
            Some(LongKind::Initial) => 0,
            Some(LongKind::ZeroRtt) => 1,
            Some(LongKind::Handshake) => 2,
            None => 3,
        };
        if self == Self::V2 {
            (numbered + 1) & 0b11
        } else {
            numbered
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::V1 => f.write_str("QUICv1"),
            Self::V2 => f.write_str("QUICv2"),
            Self(number) => write!(f, "{number:#010x}"),
        }
    }
}
