//! Splits datagrams into packets. RFC 9000 §12.2 and §17.

use roundtrip_wire::quic::{ConnectionId, LongKind, Packet, Packets, Retry, Side, Version};

use super::MIN_DATAGRAM;
use crate::crypto::Level;

const FORM_LONG: u8 = 0x80;
const FIXED: u8 = 0x40;

/// The position of one packet in its datagram.
#[derive(Debug, Clone, Copy)]
pub(super) struct PacketLayout {
    pub(super) level: Level,
    /// The offset from the start of the datagram.
    pub(super) start: usize,
    /// The offset of the packet number from the start of the packet.
    pub(super) number_at: usize,
    pub(super) length: usize,
    /// The sender's id, in long headers.
    pub(super) source: Option<ConnectionId>,
}

/// The contents of a datagram. None of it is authenticated yet.
#[derive(Debug)]
pub(super) enum DatagramPart<'a> {
    Packet(PacketLayout),
    Retry(Retry<'a>),
    VersionNegotiation {
        destination: &'a [u8],
        source: &'a [u8],
        versions: Vec<Version>,
    },
}

/// Finds the packets of one datagram: the loop of receiving makes one for each datagram, and calls
/// [`Self::next`] with that datagram until it returns `None`. It may open each packet in place
/// before it asks for the next one.
#[derive(Debug)]
pub(super) struct Splitter {
    side: Side,
    version: Version,
    /// The length of this side's ids.
    id_length: usize,
    at: usize,
    /// The destination of the first packet with a long header.
    destination: Option<ConnectionId>,
    is_over: bool,
}

impl Splitter {
    #[inline]
    pub(super) fn new(side: Side, version: Version, id_length: usize) -> Self {
        Self {
            side,
            version,
            id_length,
            at: 0,
            destination: None,
            is_over: false,
        }
    }

    #[inline]
    pub(super) fn next<'a>(&mut self, datagram: &'a [u8]) -> Option<DatagramPart<'a>> {
        while !self.is_over {
            let rest = datagram.get(self.at..)?;
            let first = *rest.first()?;
            if first & FORM_LONG == 0 {
                self.is_over = true;
                let layout = PacketLayout {
                    level: Level::OneRtt,
                    start: self.at,
                    number_at: 1 + self.id_length,
                    length: rest.len(),
                    source: None,
                };
                return (first & FIXED != 0).then_some(DatagramPart::Packet(layout));
            }
            let part = self.next_long(rest)?;
            // RFC 9000 §14.1: a client's Initial packets come in large datagrams.
            let is_discarded = self.side == Side::Server
                && datagram.len() < MIN_DATAGRAM
                && matches!(&part, DatagramPart::Packet(layout) if layout.level == Level::Initial);
            if !is_discarded {
                return Some(part);
            }
        }
        None
    }

    fn next_long<'a>(&mut self, rest: &'a [u8]) -> Option<DatagramPart<'a>> {
        match Packets::new(rest).next()?.ok()? {
            Packet::Long(long) if long.version == self.version => {
                // RFC 9000 §17.2.2: servers send no tokens in Initial packets.
                if self.side == Side::Client && !long.token.is_empty() {
                    return None;
                }
                // RFC 9000 §12.2: all packets of a datagram are for one connection.
                if *self.destination.get_or_insert(long.destination) != long.destination {
                    return None;
                }
                let level = match long.kind {
                    LongKind::Initial => Level::Initial,
                    LongKind::ZeroRtt => Level::Early,
                    LongKind::Handshake => Level::Handshake,
                };
                let layout = PacketLayout {
                    level,
                    start: self.at,
                    number_at: long.number_at,
                    length: long.bytes.len(),
                    source: Some(long.source),
                };
                self.at += layout.length;
                self.is_over = layout.length == 0;
                Some(DatagramPart::Packet(layout))
            }
            // Each of these is the last that is read.
            Packet::Retry(retry) => {
                self.is_over = true;
                Some(DatagramPart::Retry(retry))
            }
            Packet::VersionNegotiation {
                destination,
                source,
                versions,
            } => {
                self.is_over = true;
                Some(DatagramPart::VersionNegotiation {
                    destination,
                    source,
                    versions,
                })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use roundtrip_wire::quic::{Pen, set_length, write_long};

    use super::*;

    /// An Initial packet to this id.
    fn initial(destination: u8) -> Vec<u8> {
        let mut packet = vec![0; 60];
        let mut pen = Pen::new(&mut packet);
        let id = |byte: u8| ConnectionId::new(&[byte; 8]).unwrap();
        let (kind, version) = (LongKind::Initial, Version::V1);
        let (to, from) = (id(destination), id(9));
        let header = write_long(&mut pen, kind, version, &to, &from, &[], 0, 1).unwrap();
        set_length(&mut packet, header.length_at, 60 - header.number_at);
        packet
    }

    fn starts(side: Side, datagram: &[u8]) -> Vec<(Level, usize)> {
        let mut splitter = Splitter::new(side, Version::V1, 8);
        let parts = std::iter::from_fn(|| splitter.next(datagram));
        let starts = parts.map(|part| match part {
            DatagramPart::Packet(layout) => (layout.level, layout.start),
            other => panic!("{other:?}"),
        });
        starts.collect()
    }

    #[test]
    fn packets_of_one_datagram_go_to_one_id_and_a_short_header_ends_it() {
        let short = vec![FIXED; 60];
        let both = [initial(1), initial(1), short.clone(), initial(1)].concat();
        let expected = [
            (Level::Initial, 0),
            (Level::Initial, 60),
            (Level::OneRtt, 120),
        ];
        assert_eq!(starts(Side::Client, &both), expected);
        let other = [initial(1), initial(2), short].concat();
        assert_eq!(starts(Side::Client, &other), [(Level::Initial, 0)]);
    }

    #[test]
    fn a_server_skips_initial_packets_in_small_datagrams() {
        let small = [initial(1), vec![FIXED; 60]].concat();
        assert_eq!(starts(Side::Server, &small), [(Level::OneRtt, 60)]);
        let large = [initial(1), vec![FIXED; 1140]].concat();
        let expected = [(Level::Initial, 0), (Level::OneRtt, 60)];
        assert_eq!(starts(Side::Server, &large), expected);
        assert_eq!(starts(Side::Server, &[0; 1200]), []);
    }
}
