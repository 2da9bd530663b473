//! Puts fragments of IP packets together again. RFC 791 §3.2, RFC 8200 §4.5.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use roundtrip_wire::packet::{IpVersion, Packet};

/// The largest number of datagrams whose fragments are waited for; the oldest are given up.
const MAX_DATAGRAMS: usize = 1024;
/// The largest amount of data that waits, in bytes: fragments of one datagram may overlap.
const MAX_HELD: usize = 16 << 20;
/// The approximate memory of a fragment in bytes, beside its data.
const PER_PIECE: usize = 64;
/// The length of the longest packet, in bytes.
const MAX_PACKET: usize = 0xffff;
/// How long hosts wait for the remaining fragments, in nanoseconds. RFC 8200 §4.5.
const MAX_WAIT: u64 = 60_000_000_000;
const IPV6_HEADER: usize = 40;

/// The common key of the fragments of one datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FragmentKey {
    interface: u32,
    source: IpAddr,
    destination: IpAddr,
    identification: u32,
}

#[derive(Debug)]
struct Pieces {
    key: FragmentKey,
    began: u64,
    /// The header of the first fragment, as it would be without fragmentation.
    header: Vec<u8>,
    by_offset: BTreeMap<usize, Vec<u8>>,
    bytes: usize,
    /// The total length in bytes, once the last fragment has arrived.
    total: Option<usize>,
}

/// Datagrams whose fragments have arrived in part.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    waiting: VecDeque<Pieces>,
    /// The memory of all fragments, in bytes.
    held: usize,
}

impl Fragments {
    /// Takes a fragment. Returns its packet once that is whole, and how many fragments made it.
    pub(crate) fn push(
        &mut self,
        interface: u32,
        at: u64,
        packet: &Packet<'_>,
    ) -> Option<(Vec<u8>, u64)> {
        let place = packet.fragment();
        let key = FragmentKey {
            interface,
            source: packet.source(),
            destination: packet.destination(),
            identification: place.identification,
        };
        let offset = usize::from(place.offset);
        let end = offset + packet.payload().len();
        // The content of truncated packets is unknown.
        if !packet.is_complete() || end > MAX_PACKET {
            return None;
        }
        let known = self.waiting.iter().position(|pieces| pieces.key == key);
        let known = known.and_then(|n| self.waiting.remove(n));
        self.held -= known.as_ref().map_or(0, Pieces::held);
        let fresh = known.filter(|pieces| at.saturating_sub(pieces.began) <= MAX_WAIT);
        let mut pieces = match fresh {
            Some(pieces) => pieces,
            None => Pieces {
                key,
                began: at,
                header: Vec::new(),
                by_offset: BTreeMap::new(),
                bytes: 0,
                total: None,
            },
        };
        if offset == 0 {
            pieces.header = header(packet);
        }
        if !place.more {
            pieces.total = Some(end);
        }
        // If a fragment comes twice, the first one counts.
        pieces.by_offset.entry(offset).or_insert_with(|| {
            pieces.bytes += packet.payload().len();
            packet.payload().to_vec()
        });
        if let Some(whole) = pieces.whole() {
            return Some((whole, pieces.by_offset.len() as u64));
        }
        self.held += pieces.held();
        self.waiting.push_back(pieces);
        while self.waiting.len() > MAX_DATAGRAMS || self.held > MAX_HELD {
            let given_up = self.waiting.pop_front();
            self.held -= given_up.as_ref().map_or(self.held, Pieces::held);
        }
        None
    }
}

impl Pieces {
    /// Roughly the number of bytes that the fragments take.
    fn held(&self) -> usize {
        self.header.len() + self.bytes + self.by_offset.len() * PER_PIECE
    }

    fn whole(&self) -> Option<Vec<u8>> {
        let total = self.total.filter(|_| !self.header.is_empty())?;
        let mut bytes = self.header.clone();
        let mut next = 0_usize;
        for (offset, piece) in &self.by_offset {
            let skip = next.checked_sub(*offset).filter(|_| next < total);
            let Some(fresh) = skip.map(|skip| piece.get(skip..).unwrap_or_default()) else {
                break;
            };
            bytes.extend(fresh);
            next = next.max(offset + piece.len());
        }
        if next < total || bytes.len() > MAX_PACKET {
            return None;
        }
        let is_v4 = bytes.first()? >> 4 == 4;
        let (at, length) = if is_v4 {
            (2, bytes.len())
        } else {
            (4, bytes.len() - IPV6_HEADER)
        };
        let length = u16::try_from(length).ok()?.to_be_bytes();
        bytes.get_mut(at..at + 2)?.copy_from_slice(&length);
        Some(bytes)
    }
}

/// The header of a whole packet: of IPv6, without extension headers.
fn header(packet: &Packet<'_>) -> Vec<u8> {
    let length = match packet.version() {
        IpVersion::V4 => packet.header_length(),
        IpVersion::V6 => IPV6_HEADER,
    };
    let mut header = packet.bytes().get(..length).unwrap_or_default().to_vec();
    match packet.version() {
        IpVersion::V4 => {
            // The checksum covered the place.
            for cleared in [6..8, 10..12] {
                header
                    .get_mut(cleared)
                    .into_iter()
                    .for_each(|two| two.fill(0));
            }
        }
        IpVersion::V6 => {
            if let Some(next) = header.get_mut(6) {
                *next = packet.protocol();
            }
        }
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of 10.0.0.1 with this many bytes, and its fragments.
    fn cut(length: usize, mtu: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
        let mut whole = vec![
            0x45, 0, 0, 0, 0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        whole.extend((20..length).map(|n| n as u8));
        let total = (length as u16).to_be_bytes();
        whole[2..4].copy_from_slice(&total);
        let packet = Packet::parse(&whole).unwrap();
        let pieces = roundtrip_wire::packet::fragments(&packet, mtu).unwrap();
        let pieces = pieces.collect();
        (whole, pieces)
    }

    fn joined(pieces: &[&[u8]]) -> Vec<(Vec<u8>, u64)> {
        let mut fragments = Fragments::default();
        let pieces = pieces.iter();
        pieces
            .filter_map(|piece| fragments.push(0, 0, &Packet::parse(piece).unwrap()))
            .collect()
    }

    #[test]
    fn a_packet_is_whole_when_its_last_fragment_has_come_in_any_order() {
        let (whole, pieces) = cut(3000, 1400);
        assert_eq!(pieces.len(), 3);
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let pieces: Vec<&[u8]> = order.map(|n: usize| pieces[n].as_slice()).to_vec();
            assert_eq!(joined(&pieces), [(whole.clone(), 3)], "{order:?}");
            assert_eq!(joined(&pieces[..2]), [], "one is missing");
        }
        let twice = [&pieces[0], &pieces[1], &pieces[1], &pieces[2]].map(Vec::as_slice);
        assert_eq!(joined(&twice), [(whole, 3)]);
    }

    #[test]
    fn fragments_of_ipv6_are_joined_without_their_header() {
        let piece = |place: u16, payload: &[u8]| {
            let mut bytes = vec![0x60, 0, 0, 0];
            bytes.extend((8 + payload.len() as u16).to_be_bytes());
            bytes.extend([44, 64]);
            bytes.extend([1; 32]);
            bytes.extend([17, 0]);
            bytes.extend(place.to_be_bytes());
            bytes.extend([0, 0, 0, 9]);
            bytes.extend(payload);
            bytes
        };
        let (first, second) = (piece(1, &[7; 16]), piece(16, &[8; 4]));
        let whole = joined(&[&first, &second]);
        let (bytes, 2) = &whole[0] else {
            panic!("{whole:?}");
        };
        let packet = Packet::parse(bytes).unwrap();
        assert!(packet.fragment().is_whole() && packet.is_complete());
        assert_eq!(packet.protocol(), 17);
        assert_eq!(packet.payload(), [&[7; 16][..], &[8; 4]].concat());
    }

    #[test]
    fn incomplete_packets_are_bounded() {
        let (_, pieces) = cut(3000, 1400);
        let mut fragments = Fragments::default();
        for id in 0..5000_u16 {
            let mut piece = pieces[0].clone();
            piece[4..6].copy_from_slice(&id.to_be_bytes());
            let none = fragments.push(0, u64::from(id), &Packet::parse(&piece).unwrap());
            assert_eq!(none, None);
            assert!(fragments.waiting.len() <= MAX_DATAGRAMS);
        }
        // Fragments that overlap are bounded by what they hold.
        let mut fragments = Fragments::default();
        for offset in 0..2000_u16 {
            let (_, mut pieces) = cut(40_000, 30_000);
            pieces[0][6..8].copy_from_slice(&(0x2000 | offset).to_be_bytes());
            fragments.push(0, 0, &Packet::parse(&pieces[0]).unwrap());
            assert!(fragments.held <= MAX_HELD);
        }
        // An identification that is reused later belongs to another packet.
        let mut fragments = Fragments::default();
        let part = |n: usize| Packet::parse(&pieces[n]).unwrap();
        assert_eq!(fragments.push(0, 0, &part(0)), None);
        assert_eq!(fragments.push(0, MAX_WAIT + 1, &part(1)), None);
        assert_eq!(fragments.push(0, MAX_WAIT + 2, &part(2)), None);
    }
}
