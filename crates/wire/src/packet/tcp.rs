//! Parses a TCP segment. RFC 9293 §3.1.

use std::ops::Range;

use super::layout::TCP_HEADER;
use super::{Flags, Options};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp<'a> {
    header: &'a [u8; TCP_HEADER],
    options: &'a [u8],
    payload: &'a [u8],
    payload_at: usize,
    declared_payload: usize,
}

impl<'a> Tcp<'a> {
    /// The segment at `at` in `packet`, which ends at `declared` according to the IP header.
    pub(super) fn new(
        packet: &'a [u8],
        at: usize,
        payload_at: usize,
        declared: usize,
    ) -> Option<Self> {
        let (before, payload) = packet.split_at_checked(payload_at)?;
        let (header, options) = before.get(at..)?.split_first_chunk()?;
        Some(Self {
            header,
            options,
            payload,
            payload_at,
            declared_payload: declared.saturating_sub(payload_at),
        })
    }

    pub fn source_port(&self) -> u16 {
        u16::from_be_bytes([self.header[0], self.header[1]])
    }

    pub fn destination_port(&self) -> u16 {
        u16::from_be_bytes([self.header[2], self.header[3]])
    }

    pub fn sequence(&self) -> u32 {
        let [_, _, _, _, a, b, c, d, ..] = *self.header;
        u32::from_be_bytes([a, b, c, d])
    }

    pub fn acknowledgment(&self) -> u32 {
        let [_, _, _, _, _, _, _, _, a, b, c, d, ..] = *self.header;
        u32::from_be_bytes([a, b, c, d])
    }

    pub fn flags(&self) -> Flags {
        Flags::from_bytes([self.header[12], self.header[13]])
    }

    /// The window in the header, not scaled.
    pub fn window(&self) -> u16 {
        u16::from_be_bytes([self.header[14], self.header[15]])
    }

    pub fn checksum(&self) -> u16 {
        u16::from_be_bytes([self.header[16], self.header[17]])
    }

    /// The header's length in bytes, including options.
    pub fn header_length(&self) -> usize {
        TCP_HEADER + self.options.len()
    }

    pub fn options(&self) -> Options<'a> {
        Options::new(self.options)
    }

    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The position of the payload in the packet.
    pub fn payload_range(&self) -> Range<usize> {
        self.payload_at..self.payload_at + self.payload.len()
    }

    /// The length in bytes that the sender sent, even if a capture has cut the packet.
    pub fn payload_length(&self) -> usize {
        self.declared_payload
    }

    /// SEG.LEN: the number of sequence numbers that the segment takes, including one each for SYN
    /// and FIN. RFC 9293 §3.3.1.
    pub fn segment_length(&self) -> u32 {
        let flags = self.flags();
        self.declared_payload as u32
            + u32::from(flags.contains(Flags::SYN))
            + u32::from(flags.contains(Flags::FIN))
    }
}
