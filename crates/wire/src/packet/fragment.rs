//! Fragments IPv4 packets to fit a link. RFC 791 §3.2.

use super::{IpVersion, Packet, PacketMut};
use crate::{Error, Result};

const FIXED_HEADER: usize = 20;
/// The largest end in bytes: offsets have 13 bits and count units of eight bytes.
const FURTHEST_END: usize = 0xffff;
const MORE_FRAGMENTS: u16 = 0x2000;
/// RFC 791 §3.1: options with this bit are copied into every fragment, others only into the first.
const COPIED: u8 = 0x80;
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;

/// Cuts a packet into fragments of at most `mtu` bytes; one that fits is returned unchanged. In
/// IPv6 only the source of a packet may fragment it.
pub fn fragments<'a>(packet: &Packet<'a>, mtu: usize) -> Result<Fragments<'a>> {
    let why_not = if packet.version() == IpVersion::V6 {
        Some("only its source may cut an IPv6 packet")
    } else if !packet.is_complete() {
        Some("it is not complete")
    } else if packet.bytes().len() <= mtu {
        None
    } else if packet.dont_fragment() {
        Some("it must not be cut")
    } else if usize::from(packet.fragment().offset) + packet.payload().len() > FURTHEST_END {
        Some("its end would lie beyond the largest offset")
    } else if packet.header_length() + 8 > mtu {
        Some("the link has no room beyond its header")
    } else {
        None
    };
    match why_not {
        Some(why) => Err(Error::malformed("a packet to cut", why)),
        None => Ok(Fragments::new(*packet, mtu)),
    }
}

/// The fragments, in order.
#[derive(Debug, Clone)]
pub struct Fragments<'a> {
    packet: Packet<'a>,
    mtu: usize,
    /// The number of bytes of the payload that are done.
    done: usize,
    ended: bool,
}

impl<'a> Fragments<'a> {
    fn new(packet: Packet<'a>, mtu: usize) -> Self {
        Self {
            packet,
            mtu,
            done: 0,
            ended: false,
        }
    }

    fn header(&self) -> Vec<u8> {
        let header = self.packet.bytes().get(..self.packet.header_length());
        let header = header.unwrap_or_default();
        match header.split_at_checked(FIXED_HEADER) {
            Some((fixed, options)) if self.done > 0 => {
                let mut header = fixed.to_vec();
                header.extend(copied_options(options));
                header
            }
            _ => header.to_vec(),
        }
    }

    fn cut(&mut self) -> Option<Vec<u8>> {
        let mut bytes = self.header();
        let rest = self.packet.payload().get(self.done..)?;
        let room = self.mtu.checked_sub(bytes.len())?;
        let taken = if rest.len() <= room {
            rest
        } else {
            // Offsets count in units of eight bytes.
            rest.get(..room & !7)?
        };
        let place = self.packet.fragment();
        let is_last = taken.len() == rest.len() && !place.more;
        let offset = usize::from(place.offset) + self.done;
        let mut word = u16::try_from(offset / 8).ok()?;
        if !is_last {
            word |= MORE_FRAGMENTS;
        }
        if self.packet.dont_fragment() {
            word |= 0x4000;
        }
        self.done += taken.len();
        self.ended = taken.len() == rest.len();
        let words = (bytes.len() / 4) as u8;
        bytes.extend(taken);
        let length = u16::try_from(bytes.len()).ok()?;
        bytes.get_mut(..1)?.copy_from_slice(&[0x40 | words]);
        bytes.get_mut(2..4)?.copy_from_slice(&length.to_be_bytes());
        bytes.get_mut(6..8)?.copy_from_slice(&word.to_be_bytes());
        PacketMut::parse(&mut bytes)
            .ok()?
            .recompute_header_checksum();
        Some(bytes)
    }
}

impl Iterator for Fragments<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        if self.done == 0 && self.packet.bytes().len() <= self.mtu {
            self.ended = true;
            return Some(self.packet.bytes().to_vec());
        }
        let fragment = self.cut();
        self.ended |= fragment.is_none();
        fragment
    }
}

/// The options for later fragments, padded to whole words.
fn copied_options(mut options: &[u8]) -> Vec<u8> {
    let mut copied = Vec::new();
    while let Some(&kind) = options.first() {
        let length = match (kind, options.get(1)) {
            (END_OF_OPTIONS, _) => break,
            (NO_OPERATION, _) => 1,
            (_, Some(&length)) if length >= 2 => usize::from(length),
            _ => break,
        };
        let Some((option, rest)) = options.split_at_checked(length) else {
            break;
        };
        if kind & COPIED != 0 {
            copied.extend(option);
        }
        options = rest;
    }
    copied.resize(copied.len().next_multiple_of(4), END_OF_OPTIONS);
    copied
}
