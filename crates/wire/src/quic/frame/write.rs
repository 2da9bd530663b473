//! Writes frames. RFC 9000 §19.

use super::super::pen::{MAX_VARINT, Pen, varint_size};
use super::Frame;

/// The number of bytes that [`write_stream_header`] writes.
#[inline]
pub fn stream_header_size(id: u64, offset: u64, length: Option<u16>) -> usize {
    let offset_size = if offset == 0 { 0 } else { varint_size(offset) };
    1 + varint_size(id) + offset_size + length.map_or(0, |n| varint_size(u64::from(n)))
}

/// Writes the header of a STREAM frame; the data follows it. Without a length, the frame extends to
/// the end of the packet. RFC 9000 §19.8.
#[inline]
pub fn write_stream_header(
    pen: &mut Pen<'_>,
    id: u64,
    offset: u64,
    length: Option<u16>,
    fin: bool,
) -> bool {
    if pen.room() < stream_header_size(id, offset, length) {
        return false;
    }
    let with_offset = u8::from(offset != 0) << 2;
    let with_length = u8::from(length.is_some()) << 1;
    pen.u8(0x08 | with_offset | with_length | u8::from(fin))
        && pen.varint(id)
        && (offset == 0 || pen.varint(offset))
        && length.is_none_or(|n| pen.varint(u64::from(n)))
}

/// The integers after the type, and the bytes after those, with their length if the frame has one.
struct Fields<'a> {
    numbers: [Option<u64>; 4],
    length: Option<u64>,
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    fn numbers<const N: usize>(numbers: [u64; N]) -> Self {
        let mut all = [None; 4];
        for (place, number) in all.iter_mut().zip(numbers) {
            *place = Some(number);
        }
        Self {
            numbers: all,
            length: None,
            bytes: &[],
        }
    }

    fn followed_by(self, bytes: &'a [u8]) -> Self {
        Self {
            length: Some(bytes.len() as u64),
            bytes,
            ..self
        }
    }
}

impl Frame<'_> {
    /// The number of bytes that [`Frame::write`] writes.
    pub fn size(&self) -> usize {
        match self {
            Self::Padding(count) => *count,
            Self::Ack(ack) => ack.size(),
            Self::NewConnectionId {
                sequence,
                retire_prior_to,
                id,
                ..
            } => 1 + varint_size(*sequence) + varint_size(*retire_prior_to) + 1 + id.len() + 16,
            _ => {
                let fields = self.fields();
                let numbers = fields.numbers.iter().chain([&fields.length]).flatten();
                let numbers: usize = numbers.map(|n| varint_size(*n)).sum();
                varint_size(self.kind()) + numbers + fields.bytes.len()
            }
        }
    }

    /// Writes the frame. Returns `false`, and writes nothing, if there is no room or a number is
    /// too large to encode.
    pub fn write(&self, pen: &mut Pen<'_>) -> bool {
        match self {
            Self::Padding(count) => pen.zeros(*count),
            Self::Ack(ack) => ack.write(pen),
            Self::NewConnectionId {
                sequence,
                retire_prior_to,
                id,
                reset_token,
            } => {
                pen.room() >= self.size()
                    && are_writable([*sequence, *retire_prior_to])
                    && pen.u8(0x18)
                    && pen.varint(*sequence)
                    && pen.varint(*retire_prior_to)
                    && pen.u8(id.len() as u8)
                    && pen.bytes(id.as_slice())
                    && pen.bytes(reset_token)
            }
            _ => {
                let fields = self.fields();
                let numbers = || fields.numbers.iter().chain([&fields.length]).flatten();
                pen.room() >= self.size()
                    && are_writable(numbers().copied())
                    && pen.varint(self.kind())
                    && numbers().all(|n| pen.varint(*n))
                    && pen.bytes(fields.bytes)
            }
        }
    }

    fn fields(&self) -> Fields<'_> {
        match self {
            Self::ResetStream { id, code, size } => Fields::numbers([*id, *code, *size]),
            Self::StopSending { id, code: second }
            | Self::MaxStreamData { id, limit: second }
            | Self::StreamDataBlocked { id, limit: second } => Fields::numbers([*id, *second]),
            Self::MaxData(only)
            | Self::DataBlocked(only)
            | Self::MaxStreams { limit: only, .. }
            | Self::StreamsBlocked { limit: only, .. }
            | Self::RetireConnectionId(only) => Fields::numbers([*only]),
            Self::AckFrequency {
                sequence,
                threshold,
                max_delay_us,
                reordering,
            } => Fields::numbers([*sequence, *threshold, *max_delay_us, *reordering]),
            Self::Crypto { offset, data } => Fields::numbers([*offset]).followed_by(data),
            Self::NewToken(bytes) | Self::Datagram(bytes) => Fields::numbers([]).followed_by(bytes),
            Self::Stream {
                id, offset, data, ..
            } if *offset == 0 => Fields::numbers([*id]).followed_by(data),
            Self::Stream {
                id, offset, data, ..
            } => Fields::numbers([*id, *offset]).followed_by(data),
            Self::Close {
                code,
                frame: Some(frame),
                reason,
            } => Fields::numbers([*code, *frame]).followed_by(reason),
            Self::Close { code, reason, .. } => Fields::numbers([*code]).followed_by(reason),
            Self::PathChallenge(bytes) | Self::PathResponse(bytes) => Fields {
                bytes,
                ..Fields::numbers([])
            },
            // Frames without fields, and frames that are written elsewhere.
            Self::Ping
            | Self::HandshakeDone
            | Self::ImmediateAck
            | Self::Padding(_)
            | Self::Ack(_)
            | Self::NewConnectionId { .. } => Fields::numbers([]),
        }
    }
}

fn are_writable(numbers: impl IntoIterator<Item = u64>) -> bool {
    numbers.into_iter().all(|n| n <= MAX_VARINT)
}
