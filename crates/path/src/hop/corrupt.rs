//! Flips a bit behind the IP header. The receiver's checksum detects it, and the packet is lost
//! there, unless the checksum is recomputed to match.

use std::time::Duration;

use roundtrip_wire::packet::{self as wire, PacketMut};

use super::{Hop, HopOutput};
use crate::direction::Direction;
use crate::link::Corruption;
use crate::packet::Packet;
use roundtrip_model::Random;

pub(crate) struct CorruptionHop {
    pub(crate) corruption: Corruption,
    pub(crate) random: Random,
}

impl Hop for CorruptionHop {
    fn pass(&mut self, mut packet: Packet, way: Direction, at: Duration, exit: &mut HopOutput) {
        // Always draw three numbers for each packet: the fate of later packets must not depend on
        // lengths.
        let (hit, place, bit) = (
            self.random.unit(),
            self.random.next_u64(),
            self.random.below(8),
        );
        if hit < self.corruption.share {
            flip(&mut packet, place, bit, self.corruption.is_unnoticed);
        }
        exit.forward(packet, way, at);
    }
}

fn flip(packet: &mut Packet, place: u64, bit: usize, is_unnoticed: bool) {
    let header = if is_unnoticed {
        before_payload(packet.ip())
    } else {
        match packet.ip().first() {
            Some(first) if first >> 4 == 4 => Some(usize::from(first & 0x0f) * 4),
            _ => Some(40),
        }
    };
    let room = |header| packet.length().checked_sub(header);
    let Some((header, room)) = header.and_then(|header| Some((header, room(header)?))) else {
        return;
    };
    if room == 0 {
        return;
    }
    let at = header + (place % room as u64) as usize;
    let Some(byte) = packet.ip_mut().get_mut(at) else {
        return;
    };
    *byte ^= 1 << bit;
    if is_unnoticed && let Ok(mut damaged) = PacketMut::parse(packet.ip_mut()) {
        // The result is false if there is no checksum to compute: a fragment's checksum covers all
        // fragments.
        let _ = damaged.recompute_checksums();
    }
    packet.remark(|| format!("bit {bit} of byte {at} flipped"));
}

/// The start of the payload of TCP or UDP; damage to headers is detected regardless of their
/// checksum.
fn before_payload(ip: &[u8]) -> Option<usize> {
    let read = wire::Packet::parse(ip).ok()?;
    let within = match (read.udp(), read.tcp()) {
        (Some(udp), _) => udp.payload_range().start,
        (_, Some(tcp)) => tcp.payload_range().start,
        _ => return None,
    };
    Some(within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::middlebox::trial::{SYN, datagram, segment};

    fn spoilt(text: &str, ip: &[u8]) -> Packet {
        let mut hop = CorruptionHop {
            corruption: text.parse().unwrap(),
            random: Random::seeded(3),
        };
        let mut exit = HopOutput::default();
        let packet = Packet::from_ip(ip, Duration::ZERO);
        hop.pass(packet, Direction::Up, Duration::ZERO, &mut exit);
        exit.moves.remove(0).packet
    }

    fn differing_bits(one: &[u8], other: &[u8]) -> u32 {
        let pairs = one.iter().zip(other);
        pairs.map(|(one, other)| (one ^ other).count_ones()).sum()
    }

    #[test]
    fn one_bit_behind_the_header_and_the_same_one_again() {
        let mut clean = vec![0; 60];
        clean[0] = 0x45;
        let packet = spoilt("100%", &clean);
        assert_eq!(packet.remarks().len(), 1);
        assert_eq!(packet.ip()[..20], clean[..20]);
        assert_eq!(differing_bits(packet.ip(), &clean), 1);
        assert_eq!(packet.ip(), spoilt("100%", &clean).ip());
    }

    #[test]
    fn unnoticed_is_one_bit_of_payload_with_a_right_checksum() {
        for (clean, headers) in [
            (datagram(Direction::Up, false, 443, &[7; 50]), 28),
            (datagram(Direction::Up, true, 443, &[7; 50]), 48),
            (segment(Direction::Up, SYN, &[], &[7; 50]), 40),
        ] {
            let packet = spoilt("100%,unnoticed", &clean);
            let read = wire::Packet::parse(packet.ip()).unwrap();
            assert_eq!(read.checksum_is_right(), Some(true));
            assert_eq!(packet.remarks().len(), 1);
            assert_eq!(
                differing_bits(&packet.ip()[headers..], &clean[headers..]),
                1
            );
            let noticed = spoilt("100%", &clean);
            let read = wire::Packet::parse(noticed.ip());
            assert_ne!(
                read.ok().and_then(|read| read.checksum_is_right()),
                Some(true)
            );
        }
    }

    #[test]
    fn packets_without_payload_stay_unharmed() {
        for length in [0, 1, 20, 40] {
            for is_unnoticed in [false, true] {
                let mut packet = Packet::from_ip(&vec![0x45; length], Duration::ZERO);
                flip(&mut packet, 99, 7, is_unnoticed);
            }
        }
        let empty = datagram(Direction::Up, false, 443, &[]);
        assert_eq!(spoilt("100%,unnoticed", &empty).ip(), empty);
    }
}
