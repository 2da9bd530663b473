//! Splits datagrams into packets. RFC 9000 §12.2 and §17, RFC 8999.

use super::{ConnectionId, Version};
use crate::Result;
use crate::cursor::Cursor;

const FORM_LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
const SPIN: u8 = 0x20;
/// The size of a Retry's integrity tag in bytes. RFC 9001 §5.8.
const TAG: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LongKind {
    Initial,
    ZeroRtt,
    Handshake,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Packet<'a> {
    VersionNegotiation {
        /// Up to 255 bytes, as in other versions. RFC 8999 §5.1.
        destination: &'a [u8],
        source: &'a [u8],
        versions: Vec<Version>,
    },
    Retry(Retry<'a>),
    Long(LongPacket<'a>),
    /// 1-RTT; extends to the end of the datagram.
    Short {
        spin: bool,
        /// Header and protected payload; the connection id begins at the second byte.
        bytes: &'a [u8],
    },
    /// A long header of an unknown version; extends to the end of the datagram.
    Unknown {
        version: Version,
        destination: &'a [u8],
        source: &'a [u8],
    },
}

/// RFC 9000 §17.2.5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry<'a> {
    pub version: Version,
    pub destination: ConnectionId,
    /// The client's next destination id, from which the next Initial keys are derived.
    pub source: ConnectionId,
    pub token: &'a [u8],
    /// The whole packet, including its integrity tag.
    pub bytes: &'a [u8],
}

/// A packet with a long header and a protected payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongPacket<'a> {
    pub kind: LongKind,
    pub version: Version,
    pub destination: ConnectionId,
    pub source: ConnectionId,
    /// The token from a Retry or an earlier connection; only in Initial packets.
    pub token: &'a [u8],
    /// The whole packet.
    pub bytes: &'a [u8],
    /// The position of the protected packet number in `bytes`.
    pub number_at: usize,
}

/// The packets of one datagram; an error is the last item.
#[derive(Debug, Clone)]
pub struct Packets<'a> {
    rest: &'a [u8],
}

impl<'a> Packets<'a> {
    pub fn new(datagram: &'a [u8]) -> Self {
        Self { rest: datagram }
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Result<Packet<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        // Some senders fill datagrams with zeros after the last packet.
        if self.rest.iter().all(|byte| *byte == 0) {
            return None;
        }
        let read = read_packet(self.rest);
        self.rest = read.as_ref().map_or(&[], |(_, rest)| *rest);
        Some(read.map(|(packet, _)| packet))
    }
}

/// Parses one packet and returns the rest.
fn read_packet(bytes: &[u8]) -> Result<(Packet<'_>, &[u8])> {
    let mut cursor = Cursor::new("QUIC packet", bytes);
    let first = cursor.u8()?;
    if first & FORM_LONG == 0 {
        // Peers may clear the fixed bit only after it was negotiated. RFC 9287.
        if first & FIXED == 0 {
            return Err(cursor.malformed("it has neither a long header nor the fixed bit"));
        }
        let spin = first & SPIN != 0;
        return Ok((Packet::Short { spin, bytes }, &[]));
    }
    let version = Version(cursor.u32()?);
    let destination = cursor.vector8()?.rest();
    let source = cursor.vector8()?.rest();
    if version.0 == 0 {
        // RFC 9000 §17.2.1.
        let versions = cursor.collect(|c| c.u32().map(Version))?;
        let packet = Packet::VersionNegotiation {
            destination,
            source,
            versions,
        };
        return Ok((packet, &[]));
    }
    if !version.is_known() {
        let packet = Packet::Unknown {
            version,
            destination,
            source,
        };
        return Ok((packet, &[]));
    }
    // RFC 9000 §17.2. Other versions may use the bit for something else.
    if first & FIXED == 0 {
        return Err(cursor.malformed("the fixed bit is clear"));
    }
    let (destination, source) = (known_id(&cursor, destination)?, known_id(&cursor, source)?);
    let Some(kind) = version.long_kind(first >> 4) else {
        let retry = read_retry(&cursor, bytes, version, destination, source)?;
        return Ok((Packet::Retry(retry), &[]));
    };
    let token = match kind {
        LongKind::Initial => cursor.take_varint()?,
        _ => &[],
    };
    // The length covers everything from the packet number on. RFC 9000 §17.2.
    let length = cursor.varint()?;
    let number_at = cursor.position();
    cursor.take(usize::try_from(length).unwrap_or(usize::MAX))?;
    let (bytes, rest) = bytes
        .split_at_checked(cursor.position())
        .unwrap_or((bytes, &[]));
    let packet = LongPacket {
        kind,
        version,
        destination,
        source,
        token,
        bytes,
        number_at,
    };
    Ok((Packet::Long(packet), rest))
}

/// RFC 9000 §17.2.
fn known_id(cursor: &Cursor<'_>, id: &[u8]) -> Result<ConnectionId> {
    ConnectionId::new(id).ok_or_else(|| cursor.malformed("a connection id is longer than 20 bytes"))
}

fn read_retry<'a>(
    cursor: &Cursor<'a>,
    bytes: &'a [u8],
    version: Version,
    destination: ConnectionId,
    source: ConnectionId,
) -> Result<Retry<'a>> {
    let (token, _tag) = cursor
        .rest()
        .split_last_chunk::<TAG>()
        .ok_or_else(|| cursor.malformed("a Retry has no room for its tag"))?;
    Ok(Retry {
        version,
        destination,
        source,
        token,
        bytes,
    })
}
