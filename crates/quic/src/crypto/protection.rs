//! Seals and opens packets in place with the keys of one direction. RFC 9001 §5. `phases` and the
//! level decide which keys.

use std::ops::Range;

use roundtrip_wire::quic::expand_number;
use rustls::quic::{DirectionalKeys, HeaderProtectionKey, PacketKey};

use super::{OpenError, OpenedPacket, TAG};
use crate::error::{Code, TransportError};

/// The distance from the start of the packet number to the sample, whatever the number's length.
/// RFC 9001 §5.4.2.
const SAMPLE_AT: usize = 4;
const SAMPLE: usize = 16;
const FORM_LONG: u8 = 0x80;
/// The bits that must be zero once the protection is removed. RFC 9000 §17.2 and §17.3.1.
const RESERVED_LONG: u8 = 0x0c;
const RESERVED_SHORT: u8 = 0x18;

/// Seals what this side sends.
pub(super) struct Sealer {
    packet: Box<dyn PacketKey>,
    header: Box<dyn HeaderProtectionKey>,
    /// The number of the first packet that this packet key may seal.
    first: u64,
    /// One more than the last number that was sealed.
    next: u64,
    /// The packet number from which on the key has reached its limit. RFC 9001 §6.6.
    barrier: u64,
}

impl Sealer {
    pub(super) fn new(keys: DirectionalKeys) -> Self {
        let barrier = keys.packet.confidentiality_limit();
        Self {
            packet: keys.packet,
            header: keys.header,
            first: 0,
            next: 0,
            barrier,
        }
    }

    /// `packet` is header, payload and room for the tag.
    #[inline]
    pub(super) fn seal(
        &mut self,
        number: u64,
        packet: &mut [u8],
        number_at: usize,
        number_length: usize,
    ) -> Result<(), TransportError> {
        if number >= self.barrier {
            return Err(worn_out());
        }
        self.next = number + 1;
        let (header, rest) = packet
            .split_at_mut_checked(number_at + number_length)
            .ok_or_else(too_short)?;
        let (payload, tag) = rest.split_last_chunk_mut::<TAG>().ok_or_else(too_short)?;
        let sealed = self
            .packet
            .encrypt_in_place(number, header, payload)
            .map_err(|_| too_short())?;
        tag.copy_from_slice(sealed.as_ref());

        let (header, rest) = packet
            .split_at_mut_checked(number_at + SAMPLE_AT)
            .ok_or_else(too_short)?;
        let sample = rest.get(..SAMPLE).ok_or_else(too_short)?;
        let (first, header) = header.split_first_mut().ok_or_else(too_short)?;
        let number = header.get_mut(number_at - 1..).ok_or_else(too_short)?;
        self.header
            .encrypt_in_place(sample, first, number)
            .map_err(|_| too_short())
    }

    /// Replaces the packet key. The header key stays the same. RFC 9001 §6.1.
    pub(super) fn replace(&mut self, packet: Box<dyn PacketKey>) {
        self.first = self.next;
        self.barrier = self.first.saturating_add(packet.confidentiality_limit());
        self.packet = packet;
    }

    /// Whether the packet with this number was sealed with the current key.
    pub(super) fn has_sealed(&self, number: u64) -> bool {
        (self.first..self.next).contains(&number)
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.first == self.next
    }

    /// Whether the key has reached half of its limit of packets.
    pub(super) fn is_worn(&self) -> bool {
        self.next - self.first >= (self.barrier - self.first) / 2
    }

    #[cfg(test)]
    pub(super) fn wear(&mut self, packets_left: u64) {
        self.barrier = self.next + packets_left;
    }
}

/// Decrypts the peer's packets at a level that has one key.
pub(super) struct Opener {
    packet: Box<dyn PacketKey>,
    header: Box<dyn HeaderProtectionKey>,
}

impl Opener {
    pub(super) fn new(keys: DirectionalKeys) -> Self {
        Self {
            packet: keys.packet,
            header: keys.header,
        }
    }

    pub(super) fn open(
        &self,
        packet: &mut [u8],
        number_at: usize,
        expected: u64,
    ) -> Result<OpenedPacket, OpenError> {
        let unmasked = unmask(&*self.header, packet, number_at, expected);
        let unmasked = unmasked.ok_or(OpenError::Undecryptable)?;
        let payload = unmasked.open(&*self.packet, packet);
        let payload = payload.ok_or(OpenError::Undecryptable)?;
        unmasked
            .check_reserved_bits()
            .map_err(OpenError::Transport)?;
        Ok(OpenedPacket {
            number: unmasked.number,
            payload,
            key_phase: false,
        })
    }
}

/// The contents of the header after its protection was removed.
pub(super) struct Unmasked {
    pub(super) first: u8,
    pub(super) number: u64,
    /// Including the number.
    header_length: usize,
}

/// Removes the protection of the header. Returns `None` if the packet is too short to have one, or
/// `number_at` is outside it.
#[inline]
pub(super) fn unmask(
    key: &dyn HeaderProtectionKey,
    packet: &mut [u8],
    number_at: usize,
    expected: u64,
) -> Option<Unmasked> {
    let (header, rest) = packet.split_at_mut_checked(number_at.checked_add(SAMPLE_AT)?)?;
    let sample = rest.get(..SAMPLE)?;
    let (first, header) = header.split_first_mut()?;
    let number = header.get_mut(number_at.checked_sub(1)?..)?;
    key.decrypt_in_place(sample, first, number).ok()?;
    let length = usize::from(*first & 0b11) + 1;
    let truncated = number
        .iter()
        .take(length)
        .fold(0, |number, byte| number << 8 | u64::from(*byte));
    Some(Unmasked {
        first: *first,
        number: expand_number(truncated, length, expected),
        header_length: number_at + length,
    })
}

impl Unmasked {
    /// Removes the payload's protection and returns its position. Returns `None` if the packet is
    /// not authentic; the payload is destroyed then.
    #[inline]
    pub(super) fn open(&self, key: &dyn PacketKey, packet: &mut [u8]) -> Option<Range<usize>> {
        let (header, payload) = packet.split_at_mut_checked(self.header_length)?;
        let length = key
            .decrypt_in_place(self.number, header, payload)
            .ok()?
            .len();
        Some(self.header_length..self.header_length + length)
    }

    /// Call this only after the packet was authenticated. RFC 9000 §17.2 and §17.3.1.
    #[inline]
    pub(super) fn check_reserved_bits(&self) -> Result<(), TransportError> {
        let reserved = if self.first & FORM_LONG != 0 {
            RESERVED_LONG
        } else {
            RESERVED_SHORT
        };
        if self.first & reserved == 0 {
            Ok(())
        } else {
            let why = "reserved bits of a packet's header are not zero";
            Err(TransportError::new(Code::PROTOCOL_VIOLATION, why))
        }
    }
}

#[cold]
fn too_short() -> TransportError {
    TransportError::new(Code::INTERNAL_ERROR, "a packet was too short to be sealed")
}

#[cold]
fn worn_out() -> TransportError {
    let why = "its keys have protected as many packets as they may";
    TransportError::new(Code::AEAD_LIMIT_REACHED, why)
}
