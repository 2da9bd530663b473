//! A box that overwrites the TCP fast-open option in SYN and SYN-ACK with padding, as some firewalls do
//! (RFC 7413 §7.1). Data in the SYN stays; a server without the option ignores it.

use std::ops::Range;
use std::time::Duration;

use super::Kind;
use crate::direction::Direction;
use crate::hop::{Exit, Hop};
use crate::packet::Packet;

pub(super) const KIND: Kind = Kind {
    name: "strip-fast-open",
    does: "takes the fast-open option out of SYN and SYN-ACK; data in the SYN stays",
    argument: None,
    make: |_| Ok(Box::new(StripFastOpen)),
};

const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
/// RFC 7413 §4.1.1.
const FAST_OPEN: u8 = 34;
/// The experimental kind 254 with this magic came before (RFC 7413 §4.1.1, RFC 6994).
const EXPERIMENT: u8 = 254;
const FAST_OPEN_MAGIC: [u8; 2] = [0xf9, 0x89];

const TCP: u8 = 6;
const SYN: u8 = 0x02;

struct StripFastOpen;

impl Hop for StripFastOpen {
    fn pass(&mut self, mut packet: Packet, way: Direction, at: Duration, exit: &mut Exit) {
        if strip_packet(packet.ip_mut()) {
            packet.remark(|| "fast-open option overwritten".into());
        }
        exit.forward(packet, way, at);
    }
}

fn strip_packet(packet: &mut [u8]) -> bool {
    tcp_header(packet)
        .and_then(|range| packet.get_mut(range))
        .is_some_and(strip)
}

/// Where the TCP header lies, options included, if this is the start of a TCP segment.
fn tcp_header(packet: &[u8]) -> Option<Range<usize>> {
    let start = match packet.first()? >> 4 {
        4 => {
            let fragment = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x1fff;
            let is_first = *packet.get(9)? == TCP && fragment == 0;
            is_first.then_some(usize::from(packet.first()? & 0x0f) * 4)?
        }
        // Extension headers before TCP are not looked through; no stack sends them with a SYN.
        6 => (*packet.get(6)? == TCP).then_some(40)?,
        _ => return None,
    };
    let length = usize::from(packet.get(start + 12)? >> 4) * 4;
    (length >= 20 && start + length <= packet.len()).then_some(start..start + length)
}

fn strip(header: &mut [u8]) -> bool {
    if header.get(13).is_none_or(|flags| flags & SYN == 0) {
        return false;
    }
    let before = sum(header);
    let Some(option) = fast_open_option(header) else {
        return false;
    };
    if let Some(option) = header.get_mut(option) {
        option.fill(NO_OPERATION);
    }
    let after = sum(header);
    if let Some(&mut [ref mut high, ref mut low]) = header.get_mut(16..18) {
        // RFC 1624 eq. 3, over all changed words at once: HC' = ~(~HC + ~m + m').
        let checksum = u16::from_be_bytes([*high, *low]);
        let updated = !fold(u32::from(!checksum) + u32::from(!before) + u32::from(after));
        [*high, *low] = updated.to_be_bytes();
    }
    true
}

fn fast_open_option(header: &[u8]) -> Option<Range<usize>> {
    let mut at = 20;
    loop {
        match *header.get(at)? {
            END_OF_OPTIONS => return None,
            NO_OPERATION => at += 1,
            kind => {
                let length = usize::from(*header.get(at + 1)?);
                let option = header.get(at..at + length).filter(|_| length >= 2)?;
                let is_experiment =
                    kind == EXPERIMENT && option.get(2..4) == Some(&FAST_OPEN_MAGIC);
                if kind == FAST_OPEN || is_experiment {
                    return Some(at..at + length);
                }
                at += length;
            }
        }
    }
}

/// The ones' complement sum of 16-bit words (RFC 1071).
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks_exact(2)
        .filter_map(|word| word.try_into().ok());
    fold(words.map(|word| u32::from(u16::from_be_bytes(word))).sum())
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 SYN with these options, whose checksum (without pseudo-header) is right.
    fn syn(options: &[u8]) -> Vec<u8> {
        let mut tcp = vec![0; 20];
        tcp[12] = ((20 + options.len() as u8) / 4) << 4;
        tcp[13] = SYN;
        tcp.extend(options);
        let checksum = (!sum(&tcp)).to_be_bytes();
        tcp[16..18].copy_from_slice(&checksum);
        let mut packet = vec![0; 20];
        packet[0] = 0x45;
        packet[9] = TCP;
        packet.extend(tcp);
        packet
    }

    #[test]
    fn the_option_becomes_padding_and_the_checksum_stays_right() {
        // At an odd offset: a NOP, then fast open with a cookie of eight bytes, then MSS and a NOP.
        let mut options = vec![1, 34, 10, 1, 2, 3, 4, 5, 6, 7, 8];
        options.extend([2, 4, 5, 0xb4, 0]);
        let mut packet = syn(&options);
        assert!(strip_packet(&mut packet));
        assert_eq!(packet[40..51], [1; 11]);
        assert_eq!(packet[51..55], [2, 4, 5, 0xb4]);
        assert_eq!(sum(&packet[20..]), 0xffff);
    }

    #[test]
    fn the_experimental_form_goes_too() {
        let mut packet = syn(&[254, 4, 0xf9, 0x89]);
        assert!(strip_packet(&mut packet));
        assert_eq!(packet[40..], [1; 4]);
    }

    #[test]
    fn everything_else_passes_untouched() {
        let mut data = syn(&[34, 2, 0, 0]);
        data[33] = 0x10; // an ACK
        let broken_option = syn(&[2, 0, 34, 2]);
        let mut later_fragment = syn(&[34, 2, 0, 0]);
        later_fragment[7] = 1;
        let overlong = syn(&[34, 60, 0, 0]);
        for packet in [
            data,
            broken_option,
            later_fragment,
            overlong,
            vec![0x45; 9],
            vec![],
        ] {
            let mut passed = packet.clone();
            assert!(!strip_packet(&mut passed));
            assert_eq!(passed, packet);
        }
    }
}
