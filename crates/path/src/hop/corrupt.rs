//! Flips a bit behind the IP header. The receiver's checksum finds it, and the packet is lost
//! there.

use std::time::Duration;

use super::{Hop, HopOutput};
use crate::direction::Direction;
use crate::packet::Packet;
use roundtrip_model::Random;

pub(crate) struct CorruptionHop {
    pub(crate) share: f64,
    pub(crate) random: Random,
}

impl Hop for CorruptionHop {
    fn pass(&mut self, mut packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        // Always three numbers for each packet: the fate of later packets must not depend on
        // lengths.
        let (hit, place, bit) = (
            self.random.unit(),
            self.random.next_u64(),
            self.random.below(8),
        );
        if hit < self.share {
            flip(&mut packet, place, bit);
        }
        exit.forward(packet, way, at);
    }
}

fn flip(packet: &mut Packet, place: u64, bit: usize) {
    let header = match packet.ip().first() {
        Some(first) if first >> 4 == 4 => usize::from(first & 0x0f) * 4,
        _ => 40,
    };
    let Some(room) = packet.length().checked_sub(header).filter(|room| *room > 0) else {
        return;
    };
    let at = header + (place % room as u64) as usize;
    if let Some(byte) = packet.ip_mut().get_mut(at) {
        *byte ^= 1 << bit;
        packet.remark(|| format!("bit {bit} of byte {at} flipped"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_behind_the_header_and_the_same_one_again() {
        let spoilt = || {
            let mut hop = CorruptionHop {
                share: 1.0,
                random: Random::seeded(3),
            };
            let mut exit = HopOutput::default();
            let mut clean = vec![0; 60];
            clean[0] = 0x45;
            let packet = Packet::from_ip(&clean, Duration::ZERO);
            hop.pass(packet, Direction::Up, Duration::ZERO, &mut exit);
            let packet = exit.moves.remove(0).packet;
            assert_eq!(packet.remarks().len(), 1);
            assert_eq!(packet.ip()[..20], clean[..20]);
            let flipped: u32 = packet.ip()[20..].iter().map(|byte| byte.count_ones()).sum();
            assert_eq!(flipped, 1);
            packet.ip().to_vec()
        };
        assert_eq!(spoilt(), spoilt());
    }

    #[test]
    fn nothing_to_spoil_is_no_harm() {
        for length in [0, 1, 20, 40] {
            let mut packet = Packet::from_ip(&vec![0x45; length], Duration::ZERO);
            flip(&mut packet, 99, 7);
        }
    }
}
