//! Parses a UDP datagram. RFC 768.

use std::ops::Range;

use super::layout::UDP_HEADER;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Udp<'a> {
    header: &'a [u8; UDP_HEADER],
    payload: &'a [u8],
    payload_at: usize,
}

impl<'a> Udp<'a> {
    pub(super) fn new(packet: &'a [u8], range: Range<usize>) -> Option<Self> {
        let payload_at = range.start + UDP_HEADER;
        let (header, payload) = packet.get(range)?.split_first_chunk()?;
        Some(Self {
            header,
            payload,
            payload_at,
        })
    }

    pub fn source_port(&self) -> u16 {
        u16::from_be_bytes([self.header[0], self.header[1]])
    }

    pub fn destination_port(&self) -> u16 {
        u16::from_be_bytes([self.header[2], self.header[3]])
    }

    /// The length in the header, which includes the header.
    pub fn length(&self) -> u16 {
        u16::from_be_bytes([self.header[4], self.header[5]])
    }

    /// The checksum; zero means that there is none.
    pub fn checksum(&self) -> u16 {
        u16::from_be_bytes([self.header[6], self.header[7]])
    }

    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The position of the payload in the packet.
    pub fn payload_range(&self) -> Range<usize> {
        self.payload_at..self.payload_at + self.payload.len()
    }
}
