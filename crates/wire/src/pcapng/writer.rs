//! Writes a capture, block by block, into memory.

use super::block::{
    ENHANCED_PACKET, FRAME, INTERFACE, MAGIC, SECRETS, SECTION, STATISTICS as STATISTICS_BLOCK,
    TLS_KEY_LOG,
};
use super::option::{
    APPLICATION, DESCRIPTION, DROPPED, FLAGS, HARDWARE, NAME, OptionWriter, RECEIVED, SYSTEM,
    TIME_RESOLUTION,
};
use super::time::Ticks;
use super::{ByteOrder, Captured, Interface, Section, Statistics};
use crate::{Error, Result};

/// The largest packet and block that Wireshark reads, in bytes.
const MAX_PACKET: usize = 262_144;
const MAX_BLOCK: usize = 16 << 20;
/// Means that the length of a section is not given.
const UNKNOWN_LENGTH: u64 = u64::MAX;

/// One section, with times in nanoseconds. [`PcapngWriter::take`] takes out what has been written,
/// as often as is convenient.
#[derive(Debug)]
pub struct PcapngWriter {
    order: ByteOrder,
    interfaces: u32,
    bytes: Vec<u8>,
}

impl PcapngWriter {
    pub fn new(section: &Section<'_>) -> Result<Self> {
        Self::in_order(ByteOrder::default(), section)
    }

    pub fn in_order(order: ByteOrder, section: &Section<'_>) -> Result<Self> {
        let mut writer = Self {
            order,
            interfaces: 0,
            bytes: Vec::new(),
        };
        let mut body = order.put_u32(MAGIC).to_vec();
        // Version 1.0.
        body.extend(order.put_u16(1));
        body.extend(order.put_u16(0));
        body.extend(order.put_u64(UNKNOWN_LENGTH));
        let mut options = OptionWriter::new(order);
        options.put_text(HARDWARE, section.hardware.as_ref())?;
        options.put_text(SYSTEM, section.system.as_ref())?;
        options.put_text(APPLICATION, section.application.as_ref())?;
        options.put_comments(&section.comments)?;
        body.extend(options.finish());
        writer.block(SECTION, &body)?;
        Ok(writer)
    }

    /// Adds an interface, and returns its number, which packets need.
    pub fn interface(&mut self, interface: &Interface<'_>) -> Result<u32> {
        let mut body = self.order.put_u16(interface.link.0).to_vec();
        body.extend([0; 2]);
        body.extend(self.order.put_u32(interface.snap_length));
        let mut options = OptionWriter::new(self.order);
        options.put_text(NAME, interface.name.as_ref())?;
        options.put_text(DESCRIPTION, interface.description.as_ref())?;
        options.put(TIME_RESOLUTION, &[Ticks::OURS.resolution])?;
        options.put_comments(&interface.comments)?;
        body.extend(options.finish());
        self.block(INTERFACE, &body)?;
        let number = self.interfaces;
        self.interfaces += 1;
        Ok(number)
    }

    /// Writes an enhanced packet block, which has a time; its link layer is that of the interface.
    pub fn packet(&mut self, packet: &Captured<'_>) -> Result<()> {
        if packet.data.len() > MAX_PACKET {
            return Err(Error::TooLarge {
                what: "a captured packet",
                limit: MAX_PACKET,
            });
        }
        let mut body = self.head(packet.interface, packet.time)?;
        body.extend(self.order.put_u32(packet.data.len() as u32));
        body.extend(self.order.put_u32(packet.original_length));
        body.extend(packet.data.iter());
        body.resize(body.len().next_multiple_of(4), 0);
        let mut options = OptionWriter::new(self.order);
        if let Some(direction) = packet.direction {
            options.put(FLAGS, &self.order.put_u32(direction.flags()))?;
        }
        options.put_comments(&packet.comments)?;
        body.extend(options.finish());
        self.block(ENHANCED_PACKET, &body)
    }

    pub fn statistics(&mut self, statistics: &Statistics<'_>) -> Result<()> {
        let mut body = self.head(statistics.interface, statistics.time)?;
        let mut options = OptionWriter::new(self.order);
        for (code, count) in [
            (RECEIVED, statistics.received),
            (DROPPED, statistics.dropped),
        ] {
            if let Some(count) = count {
                options.put(code, &self.order.put_u64(count))?;
            }
        }
        options.put_comments(&statistics.comments)?;
        body.extend(options.finish());
        self.block(STATISTICS_BLOCK, &body)
    }

    /// Writes lines of an SSLKEYLOGFILE, which decrypt packets that come after them.
    pub fn secrets(&mut self, key_log: &[u8]) -> Result<()> {
        let mut body = self.order.put_u32(TLS_KEY_LOG).to_vec();
        body.extend(self.order.put_u32(key_log.len() as u32));
        body.extend(key_log);
        body.resize(body.len().next_multiple_of(4), 0);
        self.block(SECRETS, &body)
    }

    /// The bytes written since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// The interface and time with which packets and statistics begin.
    fn head(&self, interface: u32, time: Option<u64>) -> Result<Vec<u8>> {
        let malformed = |why| Error::malformed("a block to write", why);
        if interface >= self.interfaces {
            return Err(malformed("its interface has not been written"));
        }
        let time = time.ok_or_else(|| malformed("it has no time"))?;
        let mut body = self.order.put_u32(interface).to_vec();
        // The upper half comes first, in either byte order. draft-ietf-opsawg-pcapng §4.3.
        body.extend(self.order.put_u32((time >> 32) as u32));
        body.extend(self.order.put_u32(time as u32));
        Ok(body)
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> Result<()> {
        let length = body.len() + FRAME;
        if length > MAX_BLOCK {
            return Err(Error::TooLarge {
                what: "a block of a capture",
                limit: MAX_BLOCK,
            });
        }
        let length = self.order.put_u32(length as u32);
        self.bytes.extend(self.order.put_u32(kind));
        self.bytes.extend(length);
        self.bytes.extend(body);
        self.bytes.extend(length);
        Ok(())
    }
}
