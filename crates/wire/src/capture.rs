//! Reads captures (pcap and pcapng) in pieces, as they come from a file or a pipe. Holds one block
//! at a time.
//!
//! Push bytes, then take items until there are none; only the caller knows when the file ends.

use crate::cursor::Cursor;
use crate::pcap;
use crate::pcapng::{self, Block, Captured, Interface, Parser, SECRETS, TLS_KEY_LOG};
use crate::{Error, Result};

const WHAT: &str = "the capture";
/// The largest block in bytes. The largest packets have 256 KiB.
const MAX_BLOCK: usize = 16 << 20;

/// An item of a capture.
#[derive(Debug)]
pub enum CaptureItem<'a> {
    /// A packet. The number of its interface counts the interfaces of all sections.
    Packet(Captured<'a>),
    /// Lines of an SSLKEYLOGFILE.
    Secrets(&'a [u8]),
    /// The next interface of a pcapng.
    Interface(Interface<'a>),
}

/// Reads a capture that arrives in pieces.
#[derive(Debug, Default)]
pub struct CaptureReader {
    buffer: Vec<u8>,
    /// The number of bytes of the capture in the buffer, and how many of them were used.
    filled: usize,
    taken: usize,
    format: Option<CaptureFormat>,
    /// The interfaces of earlier sections: each section numbers its own from 0.
    interfaces_before: u32,
    interfaces: u32,
    damaged: u64,
}

#[derive(Debug)]
enum CaptureFormat {
    Pcap(pcap::Header),
    Pcapng(Parser),
}

impl CaptureReader {
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether bytes begin like a capture, in either format.
    pub fn recognises(front: &[u8]) -> bool {
        pcap::PcapReader::recognises(front) || pcapng::PcapngReader::recognises(front)
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if let Some(room) = self.room(bytes.len()).get_mut(..bytes.len()) {
            room.copy_from_slice(bytes);
        }
        self.filled(bytes.len());
    }

    /// The space for the next bytes of the capture, at least `length`. Then call
    /// [`CaptureReader::filled`] with the number of bytes written. This avoids the copy of
    /// [`CaptureReader::push`].
    pub fn room(&mut self, length: usize) -> &mut [u8] {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        let needed = self.filled + length;
        if self.buffer.len() < needed {
            self.buffer.resize(needed, 0);
        }
        self.buffer.get_mut(self.filled..).unwrap_or_default()
    }

    /// Call this after writing `count` bytes to the front of the room.
    pub fn filled(&mut self, count: usize) {
        self.filled = self.filled.saturating_add(count).min(self.buffer.len());
    }

    /// The next item; `None` if more bytes are needed. After an error nothing more can be read.
    pub fn item(&mut self) -> Result<Option<CaptureItem<'_>>> {
        loop {
            let held = self.buffer.get(..self.filled).unwrap_or_default();
            let front = held.get(self.taken..).unwrap_or_default();
            let Some(length) = next_length(&mut self.format, front)? else {
                return Ok(None);
            };
            let Some(block) = front.get(..length) else {
                return Ok(None);
            };
            self.taken += length;
            match &mut self.format {
                None => self.format = Some(CaptureFormat::Pcap(pcap::Header::parse(block)?)),
                Some(CaptureFormat::Pcap(header)) => {
                    let packet = header.packet(&mut Cursor::new(WHAT, block))?;
                    return Ok(Some(CaptureItem::Packet(packet)));
                }
                Some(CaptureFormat::Pcapng(parser)) => match parser.read(block) {
                    Ok((Block::Packet(mut packet), _)) => {
                        packet.interface = packet.interface.saturating_add(self.interfaces_before);
                        return Ok(Some(CaptureItem::Packet(packet)));
                    }
                    Ok((Block::Section(_), _)) => {
                        self.interfaces_before = self.interfaces;
                    }
                    Ok((Block::Interface(interface), _)) => {
                        self.interfaces += 1;
                        return Ok(Some(CaptureItem::Interface(interface)));
                    }
                    Ok((
                        Block::Other {
                            kind: SECRETS,
                            body,
                        },
                        _,
                    )) => {
                        if let Some(log) = key_log(body) {
                            return Ok(Some(CaptureItem::Secrets(log)));
                        }
                    }
                    Ok(_) => {}
                    // The length of the block is known, so the position of the next one is, too.
                    Err(_) => self.damaged += 1,
                },
            }
        }
    }

    /// Blocks that could not be read.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Bytes of a block or packet that is incomplete.
    pub fn left_over(&self) -> usize {
        self.filled - self.taken
    }
}

/// The length of the next part: the header of the capture, a block, or a packet.
fn next_length(format: &mut Option<CaptureFormat>, front: &[u8]) -> Result<Option<usize>> {
    if format.is_none() && front.len() >= 4 && pcapng::PcapngReader::recognises(front) {
        *format = Some(CaptureFormat::Pcapng(Parser::default()));
    }
    let length = match format {
        Some(CaptureFormat::Pcap(header)) => header.length(front),
        Some(CaptureFormat::Pcapng(parser)) => parser.length(front)?,
        None if front.len() < 4 => None,
        None if pcap::PcapReader::recognises(front) => Some(pcap::HEADER),
        None => {
            return Err(Error::malformed(WHAT, "it is neither pcap nor pcapng"));
        }
    };
    if length.is_some_and(|length| length > MAX_BLOCK) {
        return Err(Error::TooLarge {
            what: "a block of the capture",
            limit: MAX_BLOCK,
        });
    }
    Ok(length)
}

/// The byte order of the section is not needed: the type and the length are the only numbers, and
/// the type shows it.
fn key_log(body: &[u8]) -> Option<&[u8]> {
    let kind: [u8; 4] = *body.first_chunk()?;
    let length: [u8; 4] = *body.get(4..)?.first_chunk()?;
    let length = if u32::from_le_bytes(kind) == TLS_KEY_LOG {
        u32::from_le_bytes(length)
    } else if u32::from_be_bytes(kind) == TLS_KEY_LOG {
        u32::from_be_bytes(length)
    } else {
        return None;
    };
    body.get(8..)?.get(..length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An older capture: little-endian, microseconds, raw IP; two packets, the second cut to one
    /// byte.
    fn older() -> Vec<u8> {
        let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
        bytes.extend([0; 8]);
        bytes.extend([0xff, 0xff, 0, 0, 101, 0, 0, 0]);
        for (at, data, original) in [(1_u32, &[1_u8, 2, 3][..], 3_u32), (2, &[4], 9)] {
            bytes.extend(at.to_le_bytes());
            bytes.extend(5_u32.to_le_bytes());
            bytes.extend((data.len() as u32).to_le_bytes());
            bytes.extend(original.to_le_bytes());
            bytes.extend(data);
        }
        bytes
    }

    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let length = (body.len().next_multiple_of(4) + 12) as u32;
        let mut bytes = [kind.to_le_bytes(), length.to_le_bytes()].concat();
        bytes.extend(body);
        bytes.resize(length as usize - 4, 0);
        bytes.extend(length.to_le_bytes());
        bytes
    }

    /// A newer capture: two sections with one interface each and one packet each; a secret, and a
    /// packet of an interface that does not exist.
    fn newer() -> Vec<u8> {
        let section = [
            0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255,
        ];
        let mut packet = vec![0; 12];
        packet.extend([2, 0, 0, 0, 2, 0, 0, 0, 7, 8, 0, 0]);
        let mut orphan = packet.clone();
        orphan[0] = 9;
        let mut secret = TLS_KEY_LOG.to_le_bytes().to_vec();
        secret.extend([3, 0, 0, 0]);
        secret.extend(b"key");
        let one = [
            block(0x0a0d_0d0a, &section),
            block(1, &[101, 0, 0, 0, 0, 0, 0, 0]),
            block(10, &secret),
            block(6, &orphan),
            block(6, &packet),
        ]
        .concat();
        [one.clone(), one].concat()
    }

    /// Packets with their interface and their original length.
    type Packets = Vec<(u32, Vec<u8>, u32)>;

    /// Everything that is read if the bytes come in pieces of this length.
    fn read(bytes: &[u8], piece: usize) -> (Packets, Vec<u8>, CaptureReader) {
        let mut reader = CaptureReader::new();
        let (mut packets, mut secrets) = (Vec::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            reader.push(piece);
            while let Some(item) = reader.item().unwrap() {
                match item {
                    CaptureItem::Packet(packet) => {
                        let data = packet.data.to_vec();
                        packets.push((packet.interface, data, packet.original_length));
                    }
                    CaptureItem::Secrets(lines) => secrets.extend_from_slice(lines),
                    CaptureItem::Interface(interface) => assert_eq!(interface.link.0, 101),
                }
            }
        }
        (packets, secrets, reader)
    }

    #[test]
    fn either_format_is_read_in_pieces_of_any_length() {
        for piece in [1, 3, 7, 64, 10_000] {
            let (packets, _, reader) = read(&older(), piece);
            assert_eq!(packets, [(0, vec![1, 2, 3], 3), (0, vec![4], 9)]);
            assert_eq!(reader.left_over(), 0);
            let (packets, secrets, reader) = read(&newer(), piece);
            assert_eq!(packets, [(0, vec![7, 8], 2), (1, vec![7, 8], 2)]);
            assert_eq!((reader.damaged(), &*secrets), (2, &b"keykey"[..]));
        }
    }

    #[test]
    fn a_file_that_ends_in_a_packet_gives_those_before_it() {
        let whole = older();
        let (packets, _, reader) = read(&whole[..whole.len() - 1], 9);
        assert_eq!((packets.len(), reader.left_over()), (1, 16));
    }

    #[test]
    fn a_file_that_is_not_a_capture_and_a_block_without_end_are_refused() {
        let mut reader = CaptureReader::new();
        reader.push(b"GET / HTTP/1.1");
        assert!(reader.item().is_err());
        let mut reader = CaptureReader::new();
        reader.push(&older()[..24]);
        reader.push(&[0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
        assert!(matches!(reader.item(), Err(Error::TooLarge { .. })));
    }
}
