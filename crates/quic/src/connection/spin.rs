//! The spin bit: shows the connection's round trips to an observer of the path. RFC 9000 §17.4.

use roundtrip_wire::quic::Side;

#[derive(Debug, Clone, Copy)]
pub(super) struct Spin {
    /// Whether the bit stays constant. It does in one connection of sixteen, so that a connection
    /// without spin is nothing unusual.
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

    /// Takes the bit of the received packet with the highest number so far: a server returns it, a
    /// client inverts it.
    pub(super) fn on_received(&mut self, side: Side, bit: bool) {
        if !self.is_still {
            self.bit = bit == (side == Side::Server);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bit_spins_but_on_one_connection_in_sixteen() {
        let still = (0..16_u64).filter(|random| Spin::new(random << 8).is_still);
        assert_eq!(still.count(), 1);
        let mut client = Spin::new(0xf00);
        let mut server = client;
        let mut seen = Vec::new();
        for _ in 0..4 {
            server.on_received(Side::Server, client.bit());
            client.on_received(Side::Client, server.bit());
            seen.push(client.bit());
        }
        assert_eq!(seen, [true, false, true, false]);
    }
}
