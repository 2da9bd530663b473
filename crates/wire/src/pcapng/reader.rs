//! Reads a capture block by block, in either byte order and with any time resolution.

use std::borrow::Cow;

use super::block::{
    ENHANCED_PACKET, FRAME, INTERFACE, MAGIC, PACKET, SECTION, SIMPLE_PACKET,
    STATISTICS as STATISTICS_BLOCK,
};
use super::option::{
    APPLICATION, COMMENT, DESCRIPTION, DROPPED, FLAGS, HARDWARE, NAME, RECEIVED, SYSTEM,
    TIME_OFFSET, TIME_RESOLUTION, read_options, text,
};
use super::time::Ticks;
use super::{
    Block, ByteOrder, Captured, Interface, LinkType, PacketDirection, Section, Statistics,
};
use crate::cursor::Cursor;
use crate::{Error, Result};

const WHAT: &str = "the pcapng capture";
/// The number of interfaces of a section that are read.
const MAX_INTERFACES: usize = 1 << 16;

/// The blocks in order; an error is the last item.
#[derive(Debug, Clone)]
pub struct PcapngReader<'a> {
    rest: &'a [u8],
    parser: Parser,
}

/// The facts that earlier blocks state for later ones. The caller passes in each block once, in
/// order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parser {
    /// The byte order; `None` before the first section.
    order: Option<ByteOrder>,
    interfaces: Vec<InterfaceTraits>,
}

/// The properties of an interface that its packets need.
#[derive(Debug, Clone, Copy)]
struct InterfaceTraits {
    link: LinkType,
    snap_length: u32,
    ticks: Ticks,
}

impl<'a> PcapngReader<'a> {
    pub fn new(capture: &'a [u8]) -> Self {
        Self {
            rest: capture,
            parser: Parser::default(),
        }
    }

    /// Whether the bytes begin like a capture in this format.
    pub fn recognises(bytes: &[u8]) -> bool {
        bytes.starts_with(&SECTION.to_be_bytes())
    }
}

impl Parser {
    /// The length in bytes of the block at the front; `None` if its header is incomplete.
    pub(crate) fn length(&self, front: &[u8]) -> Result<Option<usize>> {
        let mut cursor = Cursor::new(WHAT, front);
        let (Ok(kind), Ok(length), Ok(magic)) = (
            cursor.array::<4>(),
            cursor.array::<4>(),
            cursor.array::<4>(),
        ) else {
            return Ok(None);
        };
        // The same value in either byte order.
        let order = if kind == SECTION.to_be_bytes() {
            Some(order_of(magic)?)
        } else {
            self.order
        };
        let order = order.ok_or_else(|| cursor.malformed("it does not begin with a section"))?;
        let length = order.u32(length) as usize;
        if length < FRAME || !length.is_multiple_of(4) {
            return Err(cursor.malformed("a block has an impossible length"));
        }
        Ok(Some(length))
    }

    /// Reads the block at the front, and returns the position of the next one.
    pub(crate) fn read<'a>(&mut self, bytes: &'a [u8]) -> Result<(Block<'a>, &'a [u8])> {
        let mut cursor = Cursor::new(WHAT, bytes);
        let kind: [u8; 4] = cursor.array()?;
        let length: [u8; 4] = cursor.array()?;
        // The same value in either byte order.
        if kind == SECTION.to_be_bytes() {
            self.order = Some(order_of(cursor.clone().array()?)?);
            self.interfaces.clear();
        }
        let order = self
            .order
            .ok_or_else(|| cursor.malformed("it does not begin with a section"))?;
        let kind = order.u32(kind);
        let length = order.u32(length) as usize;
        if length < FRAME || !length.is_multiple_of(4) {
            return Err(cursor.malformed("a block has an impossible length"));
        }
        let body = cursor.within(length - FRAME)?;
        if order.u32(cursor.array()?) as usize != length {
            return Err(cursor.malformed("a block's two lengths differ"));
        }
        let block = self.read_body(kind, Fields { order, body })?;
        Ok((block, cursor.rest()))
    }

    fn read_body<'a>(&mut self, kind: u32, mut fields: Fields<'a>) -> Result<Block<'a>> {
        Ok(match kind {
            SECTION => Block::Section(read_section(fields)?),
            INTERFACE => Block::Interface(self.read_interface(fields)?),
            ENHANCED_PACKET => {
                let interface = fields.u32()?;
                Block::Packet(self.read_packet(interface, fields)?)
            }
            PACKET => {
                let interface = u32::from(fields.u16()?);
                let _drops = fields.u16()?;
                Block::Packet(self.read_packet(interface, fields)?)
            }
            SIMPLE_PACKET => Block::Packet(self.read_simple_packet(fields)?),
            STATISTICS_BLOCK => Block::Statistics(self.read_statistics(fields)?),
            kind => Block::Other {
                kind,
                body: fields.body.rest(),
            },
        })
    }

    fn read_interface<'a>(&mut self, mut fields: Fields<'a>) -> Result<Interface<'a>> {
        let mut interface = Interface {
            link: LinkType(fields.u16()?),
            snap_length: 0,
            name: None,
            description: None,
            comments: Vec::new(),
        };
        let _reserved = fields.u16()?;
        interface.snap_length = fields.u32()?;
        let mut ticks = Ticks::default();
        let order = fields.order;
        fields.options(|code, value| match code {
            COMMENT => interface.comments.push(text(value)),
            NAME => interface.name = Some(text(value)),
            DESCRIPTION => interface.description = Some(text(value)),
            TIME_RESOLUTION => ticks.resolution = value.first().copied().unwrap_or(6),
            TIME_OFFSET => {
                if let Ok(value) = value.try_into() {
                    ticks.offset = order.u64(value).cast_signed();
                }
            }
            _ => {}
        })?;
        if self.interfaces.len() >= MAX_INTERFACES {
            return Err(Error::TooLarge {
                what: "the interfaces of a pcapng section",
                limit: MAX_INTERFACES,
            });
        }
        self.interfaces.push(InterfaceTraits {
            link: interface.link,
            snap_length: interface.snap_length,
            ticks,
        });
        Ok(interface)
    }

    fn read_packet<'a>(&self, number: u32, mut fields: Fields<'a>) -> Result<Captured<'a>> {
        let interface = self.known(number)?;
        let time = fields.time()?;
        let length = fields.u32()? as usize;
        let mut packet = Captured {
            interface: number,
            link: interface.link,
            time: interface.ticks.nanoseconds(time),
            original_length: fields.u32()?,
            data: Cow::Borrowed(fields.body.take(length)?),
            direction: None,
            comments: Vec::new(),
        };
        fields.body.take(length.wrapping_neg() % 4)?;
        let order = fields.order;
        fields.options(|code, value| match code {
            COMMENT => packet.comments.push(text(value)),
            FLAGS => {
                if let Ok(flags) = value.try_into() {
                    packet.direction = PacketDirection::from_flags(order.u32(flags));
                }
            }
            _ => {}
        })?;
        Ok(packet)
    }

    /// A packet of the section's first interface, without a time. draft-ietf-opsawg-pcapng §4.4.
    fn read_simple_packet<'a>(&self, mut fields: Fields<'a>) -> Result<Captured<'a>> {
        let interface = self.known(0)?;
        let original_length = fields.u32()?;
        let kept = match interface.snap_length {
            0 => original_length,
            most => original_length.min(most),
        };
        Ok(Captured {
            interface: 0,
            link: interface.link,
            time: None,
            original_length,
            data: Cow::Borrowed(fields.body.take(kept as usize)?),
            direction: None,
            comments: Vec::new(),
        })
    }

    fn read_statistics<'a>(&self, mut fields: Fields<'a>) -> Result<Statistics<'a>> {
        let number = fields.u32()?;
        let ticks = self.known(number)?.ticks;
        let mut statistics = Statistics {
            interface: number,
            time: ticks.nanoseconds(fields.time()?),
            ..Statistics::default()
        };
        let order = fields.order;
        fields.options(|code, value| {
            let count = || value.try_into().ok().map(|value| order.u64(value));
            match code {
                COMMENT => statistics.comments.push(text(value)),
                RECEIVED => statistics.received = count(),
                DROPPED => statistics.dropped = count(),
                _ => {}
            }
        })?;
        Ok(statistics)
    }

    fn known(&self, number: u32) -> Result<InterfaceTraits> {
        self.interfaces
            .get(number as usize)
            .copied()
            .ok_or(Error::malformed(
                WHAT,
                "a block belongs to an interface that was not described",
            ))
    }
}

impl<'a> Iterator for PcapngReader<'a> {
    type Item = Result<Block<'a>>;

    fn next(&mut self) -> Option<Result<Block<'a>>> {
        if self.rest.is_empty() {
            return None;
        }
        let read = self.parser.read(self.rest);
        self.rest = read.as_ref().map_or(&[], |(_, rest)| *rest);
        Some(read.map(|(block, _)| block))
    }
}

fn order_of(magic: [u8; 4]) -> Result<ByteOrder> {
    match magic {
        magic if magic == MAGIC.to_le_bytes() => Ok(ByteOrder::Little),
        magic if magic == MAGIC.to_be_bytes() => Ok(ByteOrder::Big),
        _ => Err(Error::malformed(WHAT, "a section has no byte order")),
    }
}

fn read_section(mut fields: Fields<'_>) -> Result<Section<'_>> {
    let _magic = fields.u32()?;
    let version = fields.u16()?;
    let _minor = fields.u16()?;
    // The section's length, which may be unknown, is not needed to go from block to block.
    let _length = fields.body.take(8)?;
    if version != 1 {
        return Err(Error::malformed(WHAT, "its major version is not 1"));
    }
    let mut section = Section::default();
    fields.options(|code, value| match code {
        COMMENT => section.comments.push(text(value)),
        HARDWARE => section.hardware = Some(text(value)),
        SYSTEM => section.system = Some(text(value)),
        APPLICATION => section.application = Some(text(value)),
        _ => {}
    })?;
    Ok(section)
}

/// The body of a block.
struct Fields<'a> {
    order: ByteOrder,
    body: Cursor<'a>,
}

impl<'a> Fields<'a> {
    fn u16(&mut self) -> Result<u16> {
        Ok(self.order.u16(self.body.array()?))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(self.order.u32(self.body.array()?))
    }

    /// The upper half comes first, in either byte order.
    fn time(&mut self) -> Result<u64> {
        let high = u64::from(self.u32()?);
        Ok(high << 32 | u64::from(self.u32()?))
    }

    fn options(self, read: impl FnMut(u16, &'a [u8])) -> Result<()> {
        read_options(self.body, self.order, read)
    }
}
