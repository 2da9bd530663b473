//! Reads packet captures in the older format: microseconds or nanoseconds, either byte order.
//! draft-ietf-opsawg-pcap.
//!
//! For comments, directions and several interfaces, see [`crate::pcapng`].

use std::borrow::Cow;

use crate::Result;
use crate::cursor::Cursor;
use crate::pcapng::{ByteOrder, Captured, LinkType};

const WHAT: &str = "the pcap capture";
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// The magic number of a patched libpcap, which adds eight bytes to the header of each packet.
const MODIFIED: u32 = 0xa1b2_cd34;
/// The sizes in bytes of the header of a capture, and of the header of a packet.
pub(crate) const HEADER: usize = 24;
const PACKET: usize = 16;
const MODIFIED_PACKET: usize = 24;

/// The packets in order; an error is the last item.
#[derive(Debug, Clone)]
pub struct PcapReader<'a> {
    rest: Cursor<'a>,
    pub header: Header,
}

/// The properties that all packets of the file share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    order: ByteOrder,
    /// The length of the unit of fractions, in nanoseconds.
    nanoseconds: u64,
    /// The length of the header of each packet, in bytes.
    per_packet: usize,
    pub link: LinkType,
    /// The largest number of bytes that were kept of a packet.
    pub snap_length: u32,
}

impl Header {
    fn read(rest: &mut Cursor<'_>) -> Result<Self> {
        let (order, nanoseconds, per_packet) = unit_of(rest.array()?)
            .ok_or_else(|| rest.malformed("it does not begin like a pcap file"))?;
        let version = order.u16(rest.array()?);
        let _minor = rest.take(2)?;
        // Formerly the time zone and accuracy; zero today.
        let _reserved = rest.take(8)?;
        let snap_length = order.u32(rest.array()?);
        // The bits above the link type say whether frames have a check sequence.
        let link = LinkType(order.u32(rest.array()?) as u16);
        if version != 2 {
            return Err(rest.malformed("its major version is not 2"));
        }
        Ok(Self {
            order,
            nanoseconds,
            per_packet,
            link,
            snap_length,
        })
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        Self::read(&mut Cursor::new(WHAT, bytes))
    }

    /// The length in bytes of the packet at the front, with its header; `None` if that is
    /// incomplete.
    pub(crate) fn length(&self, front: &[u8]) -> Option<usize> {
        let mut cursor = Cursor::new(WHAT, front);
        cursor.take(8).ok()?;
        let kept = self.order.u32(cursor.array().ok()?) as usize;
        Some(self.per_packet.saturating_add(kept))
    }

    pub(crate) fn packet<'a>(&self, rest: &mut Cursor<'a>) -> Result<Captured<'a>> {
        let order = self.order;
        let seconds = u64::from(order.u32(rest.array()?));
        let fraction = u64::from(order.u32(rest.array()?));
        let length = order.u32(rest.array()?) as usize;
        let original_length = order.u32(rest.array()?);
        rest.take(self.per_packet - PACKET)?;
        Ok(Captured {
            interface: 0,
            link: self.link,
            // Stays below 2^63.
            time: Some(seconds * 1_000_000_000 + fraction * self.nanoseconds),
            original_length,
            data: Cow::Borrowed(rest.take(length)?),
            direction: None,
            comments: Vec::new(),
        })
    }
}

impl<'a> PcapReader<'a> {
    pub fn new(capture: &'a [u8]) -> Result<Self> {
        let mut rest = Cursor::new(WHAT, capture);
        let header = Header::read(&mut rest)?;
        Ok(Self { rest, header })
    }

    /// Whether the bytes begin like a capture in this format.
    pub fn recognises(bytes: &[u8]) -> bool {
        bytes
            .first_chunk()
            .is_some_and(|magic| unit_of(*magic).is_some())
    }
}

impl<'a> Iterator for PcapReader<'a> {
    type Item = Result<Captured<'a>>;

    fn next(&mut self) -> Option<Result<Captured<'a>>> {
        if self.rest.is_empty() {
            return None;
        }
        let packet = self.header.packet(&mut self.rest);
        if packet.is_err() {
            self.rest = Cursor::new(WHAT, &[]);
        }
        Some(packet)
    }
}

/// The byte order, the unit of fractions of a second (in nanoseconds), and the length of a packet's
/// header.
fn unit_of(magic: [u8; 4]) -> Option<(ByteOrder, u64, usize)> {
    [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .find_map(|order| match order.u32(magic) {
            MICROSECONDS => Some((order, 1_000, PACKET)),
            MODIFIED => Some((order, 1_000, MODIFIED_PACKET)),
            NANOSECONDS => Some((order, 1, PACKET)),
            _ => None,
        })
}
