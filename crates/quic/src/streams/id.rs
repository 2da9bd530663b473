//! Stream ids: which side opened a stream, which directions it has, and its number among those of
//! its kind. RFC 9000 §2.1.

use roundtrip_wire::quic::Side;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dir {
    Bidi,
    Uni,
}

impl Dir {
    pub(super) const ALL: [Self; 2] = [Self::Bidi, Self::Uni];

    pub(super) fn from_bidi(bidi: bool) -> Self {
        if bidi { Self::Bidi } else { Self::Uni }
    }

    pub(super) fn is_bidi(self) -> bool {
        self == Self::Bidi
    }
}

impl StreamId {
    /// The stream that `opener` opens in this direction after `index` others.
    #[must_use]
    pub fn new(opener: Side, dir: Dir, index: u64) -> Self {
        let by_server = u64::from(opener == Side::Server);
        let uni = u64::from(dir == Dir::Uni);
        Self(index << 2 | uni << 1 | by_server)
    }

    pub fn is_bidi(self) -> bool {
        self.0 & 0x2 == 0
    }

    /// Whether the client opened the stream.
    pub fn is_client(self) -> bool {
        self.0 & 0x1 == 0
    }

    /// The number of streams of the same kind that were opened before this one.
    pub fn index(self) -> u64 {
        self.0 >> 2
    }

    pub fn dir(self) -> Dir {
        Dir::from_bidi(self.is_bidi())
    }

    pub fn is_opened_by(self, side: Side) -> bool {
        self.is_client() == (side == Side::Client)
    }
}
