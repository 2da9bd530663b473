//! Writes headers; truncates and restores packet numbers. RFC 9000 §17, §A.2 and §A.3.

use super::initial::retry_tag;
use super::pen::Pen;
use super::{ConnectionId, LongKind, Version};
use crate::Result;

const FORM_LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
const SPIN: u8 = 0x20;
const KEY_PHASE: u8 = 0x04;
/// The largest packet number. RFC 9000 §12.3.
const LAST_NUMBER: u64 = (1 << 62) - 1;
/// The largest value of a two-byte length field, in bytes.
const MAX_PACKET_LENGTH: usize = (1 << 14) - 1;

/// The positions of fields that are filled in later, counted from where the pen began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongHeader {
    pub length_at: usize,
    pub number_at: usize,
}

/// The smallest number of bytes from which the peer can restore a packet number. RFC 9000 §A.2.
#[inline]
pub fn number_length(number: u64, largest_acked: Option<u64>) -> usize {
    let unacked = match largest_acked {
        Some(largest) => number.saturating_sub(largest),
        None => number.saturating_add(1),
    };
    match unacked {
        0..=0x80 => 1,
        0x81..=0x8000 => 2,
        0x8001..=0x80_0000 => 3,
        _ => 4,
    }
}

/// The number that ends in the `length` bytes of `truncated` and is closest to `expected`. RFC 9000
/// §A.3.
#[inline]
pub fn expand_number(truncated: u64, length: usize, expected: u64) -> u64 {
    let expected = expected.min(LAST_NUMBER);
    let window = 1_u64 << (8 * length.clamp(1, 4));
    let candidate = (expected & !(window - 1)) | (truncated & (window - 1));
    if candidate + window / 2 <= expected && candidate < LAST_NUMBER + 1 - window {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

/// Writes a 1-RTT header including its packet number; returns the position of the number. RFC 9000
/// §17.3.1.
#[inline]
pub fn write_short(
    pen: &mut Pen<'_>,
    dst: &ConnectionId,
    spin: bool,
    key_phase: bool,
    number: u64,
    number_length: usize,
) -> Option<usize> {
    if pen.room() < 1 + dst.len() + number_length {
        return None;
    }
    let spin = if spin { SPIN } else { 0 };
    let key_phase = if key_phase { KEY_PHASE } else { 0 };
    pen.u8(FIXED | spin | key_phase | length_bits(number_length));
    pen.bytes(dst.as_slice());
    let number_at = pen.position();
    write_number(pen, number, number_length).then_some(number_at)
}

/// Writes a long header including its packet number; [`set_length`] fills in its length. Only
/// Initial packets have a token. RFC 9000 §17.2.
#[allow(clippy::too_many_arguments)] // each is a field of the header
pub fn write_long(
    pen: &mut Pen<'_>,
    kind: LongKind,
    version: Version,
    dst: &ConnectionId,
    src: &ConnectionId,
    token: &[u8],
    number: u64,
    number_length: usize,
) -> Option<LongHeader> {
    let token_size = match kind {
        LongKind::Initial => super::varint_size(token.len() as u64) + token.len(),
        _ => 0,
    };
    if pen.room() < 7 + dst.len() + src.len() + token_size + 2 + number_length {
        return None;
    }
    let kind_bits = version.long_bits(Some(kind)) << 4;
    pen.u8(FORM_LONG | FIXED | kind_bits | length_bits(number_length));
    pen.u32(version.0);
    write_ids(pen, dst, src);
    if kind == LongKind::Initial {
        pen.varint(token.len() as u64);
        pen.bytes(token);
    }
    let length_at = pen.position();
    pen.u16(0x4000);
    let number_at = pen.position();
    write_number(pen, number, number_length).then_some(LongHeader {
        length_at,
        number_at,
    })
}

/// `length` covers the packet number, the payload and the tag. Returns `false` if it does not fit
/// into two bytes.
pub fn set_length(packet: &mut [u8], length_at: usize, length: usize) -> bool {
    let field = packet
        .get_mut(length_at..)
        .and_then(<[u8]>::first_chunk_mut);
    let (Some(field), true) = (field, length <= MAX_PACKET_LENGTH) else {
        return false;
    };
    *field = (length as u16 | 0x4000).to_be_bytes();
    true
}

/// `dst` and `src` are the destination and the source of the packet to write, each of at most 255
/// bytes. RFC 9000 §17.2.1, RFC 8999 §6.
pub fn write_version_negotiation(
    dst: &[u8],
    src: &[u8],
    versions: &[Version],
    random_byte: u8,
) -> Vec<u8> {
    let mut packet = vec![FORM_LONG | FIXED | random_byte];
    packet.extend(0_u32.to_be_bytes());
    for id in [dst, src] {
        let id = id.get(..id.len().min(255)).unwrap_or_default();
        packet.push(id.len() as u8);
        packet.extend(id);
    }
    packet.extend(versions.iter().flat_map(|version| version.0.to_be_bytes()));
    packet
}

/// Writes a Retry with its integrity tag; `original_dst` is the destination of the Initial that it
/// answers. RFC 9000 §17.2.5.
pub fn write_retry(
    version: Version,
    dst: &ConnectionId,
    src: &ConnectionId,
    original_dst: &ConnectionId,
    token: &[u8],
) -> Result<Vec<u8>> {
    let mut packet = vec![0; 7 + dst.len() + src.len()];
    let mut pen = Pen::new(&mut packet);
    pen.u8(FORM_LONG | FIXED | version.long_bits(None) << 4);
    pen.u32(version.0);
    write_ids(&mut pen, dst, src);
    packet.extend(token);
    let tag = retry_tag(version, original_dst, &packet)?;
    packet.extend(tag);
    Ok(packet)
}

fn write_ids(pen: &mut Pen<'_>, dst: &ConnectionId, src: &ConnectionId) {
    for id in [dst, src] {
        pen.u8(id.len() as u8);
        pen.bytes(id.as_slice());
    }
}

#[inline]
fn length_bits(number_length: usize) -> u8 {
    (number_length.clamp(1, 4) - 1) as u8
}

#[inline]
fn write_number(pen: &mut Pen<'_>, number: u64, length: usize) -> bool {
    let bytes = (number as u32).to_be_bytes();
    let kept = bytes.get(4 - length.clamp(1, 4)..);
    kept.is_some_and(|kept| pen.bytes(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_rfc_are_shortened_and_restored() {
        // RFC 9000 §A.2 and §A.3.
        assert_eq!(number_length(0xac_5c02, Some(0xab_e8b3)), 2);
        assert_eq!(number_length(0xac_e8fe, Some(0xab_e8b3)), 3);
        assert_eq!(number_length(0, None), 1);
        assert_eq!(number_length(u64::MAX, None), 4);
        assert_eq!(expand_number(0x9b32, 2, 0xa82f_30eb), 0xa82f_9b32);
        assert_eq!(expand_number(2, 4, 0), 2);
        assert_eq!(expand_number(0x00, 1, 0x100), 0x100);
        assert_eq!(expand_number(0xff, 1, 0x101), 0xff);
        assert_eq!(expand_number(0, 1, u64::MAX), LAST_NUMBER & !0xff);
    }

    #[test]
    fn every_number_comes_back() {
        for number in (0..70_000).chain([1 << 23, 1 << 31, LAST_NUMBER]) {
            for behind in [1, 2, 100, 128, 129, 32_768, 60_000] {
                let Some(acked) = u64::checked_sub(number, behind) else {
                    continue;
                };
                let length = number_length(number, Some(acked));
                // The peer has received at least the number it acknowledged, and at most all before
                // this one.
                for expected in [acked + 1, number] {
                    let truncated = number & ((1 << (8 * length)) - 1);
                    assert_eq!(expand_number(truncated, length, expected), number);
                }
            }
        }
    }
}
