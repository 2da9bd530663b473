//! The spin bit: shows an observer of the path its round trips. RFC 9000 §17.4.

use roundtrip_wire::quic::Side;

#[derive(Debug, Clone, Copy)]
pub(super) struct Spin {
    /// One connection in sixteen keeps it still, so that none stands out by doing so.
    is_still: bool,
    bit: bool,
}

impl Spin {
    pub(super) fn new(random: u64) -> Self {
        Self {
            is_still: random & 0xf00 == 0,
            bit: random & 1 == 1,
        }
    }

    pub(super) fn bit(self) -> bool {
        self.bit
    }

    /// The packet with the highest number so far came with this bit: a server returns it, a client
    /// turns it over.
    pub(super) fn on_received(&mut self, side: Side, bit: bool) {
        if !self.is_still {
            self.bit = bit == (side == Side::Server);
        }
    }
}
