//! Shared by the tests of all boxes: packets between client and server, and a box to send them
//! through. Every packet that leaves a box must have a correct checksum.

use std::net::IpAddr;
use std::time::Duration;

use roundtrip_wire::packet::{IpHeader, Packet as Read, TCP, UDP, compose};

use super::Middlebox;
use crate::direction::Direction;
use crate::hop::{Hop, HopOutput};
use crate::packet::Packet;
use crate::side::{CLIENT, SERVER};

pub(crate) const SYN: u8 = 0x02;
pub(crate) const ACK: u8 = 0x10;
pub(crate) const SYN_ACK: u8 = SYN | ACK;

pub(crate) const CLIENT_PORT: u16 = 40_000;
pub(crate) const SERVER_PORT: u16 = 443;
/// The sequence number of segments unless a test sets another.
pub(crate) const SEQUENCE: u32 = 1000;

/// Source and destination of packets in this direction and IP version.
pub(crate) fn ends(way: Direction, is_v6: bool) -> (IpAddr, IpAddr) {
    let of = |side: crate::side::PathSide| {
        if is_v6 {
            side.v6.into()
        } else {
            side.v4.into()
        }
    };
    match way {
        Direction::Up => (of(CLIENT), of(SERVER)),
        Direction::Down => (of(SERVER), of(CLIENT)),
    }
}

pub(crate) fn packet(way: Direction, is_v6: bool, protocol: u8, transport: &[u8]) -> Vec<u8> {
    let (source, destination) = ends(way, is_v6);
    compose(&IpHeader::new(source, destination, protocol), transport).unwrap()
}

pub(crate) fn segment(way: Direction, flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let transport = transport(way, flags, SEQUENCE, options, payload);
    packet(way, false, TCP, &transport)
}

pub(crate) fn segment_v6(way: Direction, flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let transport = transport(way, flags, SEQUENCE, options, payload);
    packet(way, true, TCP, &transport)
}

/// A segment with data, `offset` bytes into the connection.
pub(crate) fn data(way: Direction, offset: usize, payload: &[u8]) -> Vec<u8> {
    let sequence = SEQUENCE + 1 + offset as u32;
    packet(
        way,
        false,
        TCP,
        &transport(way, ACK, sequence, &[], payload),
    )
}

fn transport(way: Direction, flags: u8, sequence: u32, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = ports(way).to_vec();
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(2000_u32.to_be_bytes());
    bytes.extend([
        (5 + options.len() as u8 / 4) << 4,
        flags,
        1,
        244,
        0,
        0,
        0,
        0,
    ]);
    bytes.extend(options);
    bytes.extend(payload);
    bytes
}

pub(crate) fn datagram(way: Direction, is_v6: bool, server_port: u16, payload: &[u8]) -> Vec<u8> {
    let (client, server) = (CLIENT_PORT.to_be_bytes(), server_port.to_be_bytes());
    let (from, to) = match way {
        Direction::Up => (client, server),
        Direction::Down => (server, client),
    };
    let length = (8 + payload.len() as u16).to_be_bytes();
    let header = [from, to, length, [0xff, 0xff]].concat();
    packet(way, is_v6, UDP, &[&header[..], payload].concat())
}

fn ports(way: Direction) -> [u8; 4] {
    let (from, to) = match way {
        Direction::Up => (CLIENT_PORT, SERVER_PORT),
        Direction::Down => (SERVER_PORT, CLIENT_PORT),
    };
    let ([a, b], [c, d]) = (from.to_be_bytes(), to.to_be_bytes());
    [a, b, c, d]
}

/// The options of a segment, as bytes.
pub(crate) fn options(ip: &[u8]) -> &[u8] {
    let read = Read::parse(ip).unwrap();
    let at = read.header_length();
    &ip[at + 20..at + read.tcp().unwrap().header_length()]
}

/// A box under test.
pub(crate) struct Trial(Box<dyn Hop>);

/// A packet that left the box.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PassedPacket {
    pub(crate) way: Direction,
    pub(crate) ms: u64,
    pub(crate) ip: Vec<u8>,
    pub(crate) remarks: Vec<String>,
}

impl Trial {
    /// Makes the box from its textual form, such as `nat`.
    pub(crate) fn parse(text: &str) -> Self {
        Self(text.parse::<Middlebox>().unwrap().make().unwrap())
    }

    /// The packets that come out, and the causes of losses.
    pub(crate) fn send(
        &mut self,
        way: Direction,
        ms: u64,
        ip: &[u8],
    ) -> (Vec<PassedPacket>, Vec<&'static str>) {
        let mut exit = HopOutput::default();
        let at = Duration::from_millis(ms);
        self.0.pass(Packet::from_ip(ip, at), way, at, &mut exit);
        assert!(exit.wakes.is_empty(), "this box has no wake-ups to test");
        let passed = exit.moves.into_iter().map(|moved| PassedPacket {
            way: moved.way,
            ms: moved.at.as_millis() as u64,
            ip: moved.packet.ip().to_vec(),
            remarks: moved.packet.remarks().to_vec(),
        });
        let lost = exit.losses.into_iter().map(|loss| loss.cause);
        (passed.collect(), lost.collect())
    }

    /// Expects one packet to come out, with valid checksums.
    pub(crate) fn one(&mut self, way: Direction, ms: u64, ip: &[u8]) -> PassedPacket {
        let (mut passed, lost) = self.send(way, ms, ip);
        assert!(lost.is_empty() && passed.len() == 1, "{passed:?} {lost:?}");
        assert_right(&passed[0].ip);
        passed.remove(0)
    }

    pub(crate) fn passes_untouched(&mut self, way: Direction, ms: u64, ip: &[u8]) {
        let passed = self.one(way, ms, ip);
        assert_eq!((passed.way, passed.ms, &passed.ip[..]), (way, ms, ip));
        assert!(passed.remarks.is_empty(), "{passed:?}");
    }

    /// Expects the packet to pass unchanged, although its checksums are invalid.
    pub(crate) fn passes_unread(&mut self, ip: &[u8]) {
        let (passed, lost) = self.send(Direction::Up, 0, ip);
        assert_eq!((passed.len(), lost.len(), &passed[0].ip[..]), (1, 0, ip));
    }

    /// Expects nothing to come out, and the loss to be counted under this name.
    pub(crate) fn loses(&mut self, way: Direction, ms: u64, ip: &[u8], cause: &str) {
        let (passed, lost) = self.send(way, ms, ip);
        assert!(passed.is_empty() && lost == [cause], "{passed:?} {lost:?}");
    }
}

pub(crate) fn assert_right(ip: &[u8]) {
    let read = Read::parse(ip).unwrap();
    assert!(read.header_checksum_is_right(), "{read:?}");
    assert_ne!(read.checksum_is_right(), Some(false), "{read:?}");
}
