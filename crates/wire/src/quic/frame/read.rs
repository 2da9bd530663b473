//! Parses frames from a decrypted payload. RFC 9000 §12.4 and §19.

use super::super::ConnectionId;
use super::super::pen::{MAX_VARINT, varint_size};
use super::super::reader::VarintReader;
use super::{Ack, Frame};
use crate::{Error, Result};

const SHORT: &str = "it is cut short";
/// The largest possible number of streams of one kind. RFC 9000 §4.6.
const MAX_STREAMS: u64 = 1 << 60;

type Read<T> = std::result::Result<T, &'static str>;

/// The frames of a decrypted payload; an error is the last item. [`Frame::is_allowed`] says what a
/// packet may carry.
#[derive(Debug, Clone)]
pub struct Frames<'a> {
    reader: VarintReader<'a>,
}

impl<'a> Frames<'a> {
    #[inline]
    pub fn new(payload: &'a [u8]) -> Self {
        Self {
            reader: VarintReader::new(payload),
        }
    }

    /// What has not been parsed yet: nothing after an error.
    pub fn rest(&self) -> &'a [u8] {
        self.reader.rest()
    }

    /// Parses the part after the type.
    #[inline]
    fn read(&mut self) -> Read<Frame<'a>> {
        let kind = self.reader.u8().ok_or(SHORT)?;
        match kind {
            0x08..=0x0f => read_stream(&mut self.reader, kind).ok_or(SHORT)?,
            0x02 | 0x03 => Ack::read(&mut self.reader, kind == 0x03).map(Frame::Ack),
            _ => read_other(&mut self.reader, kind),
        }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        match self.read() {
            Ok(frame) => Some(Ok(frame)),
            Err(why) => {
                self.reader = VarintReader::new(&[]);
                Some(Err(Error::malformed("QUIC frame", why)))
            }
        }
    }
}

/// Whether a frame begins with a type that is encoded longer than necessary, which is an error of
/// another kind than an unknown type. RFC 9000 §12.4.
pub fn has_long_type(frame: &[u8]) -> bool {
    let mut reader = VarintReader::new(frame);
    let kind = reader.varint();
    kind.is_some_and(|kind| varint_size(kind) < frame.len() - reader.rest().len())
}

/// RFC 9000 §19.8.
#[inline]
fn read_stream<'a>(reader: &mut VarintReader<'a>, kind: u8) -> Option<Read<Frame<'a>>> {
    let id = reader.varint()?;
    let offset = if kind & 0x04 == 0 {
        0
    } else {
        reader.varint()?
    };
    let data = if kind & 0x02 == 0 {
        reader.take(reader.rest().len())?
    } else {
        reader.take_varint()?
    };
    if offset + data.len() as u64 > MAX_VARINT {
        return Some(Err("stream data reaches beyond the largest offset"));
    }
    let fin = kind & 0x01 != 0;
    Some(Ok(Frame::Stream {
        id,
        offset,
        data,
        fin,
    }))
}

fn read_other<'a>(reader: &mut VarintReader<'a>, kind: u8) -> Read<Frame<'a>> {
    let frame = match kind {
        0x00 => {
            let more = reader.rest().iter().take_while(|byte| **byte == 0).count();
            reader.take(more).map(|_| Frame::Padding(more + 1))
        }
        0x01 => Some(Frame::Ping),
        0x06 => return read_crypto(reader),
        0x07 => {
            let token = reader.take_varint().ok_or(SHORT)?;
            if token.is_empty() {
                return Err("a NEW_TOKEN has no token");
            }
            Some(Frame::NewToken(token))
        }
        0x04 | 0x05 | 0x10 | 0x11 | 0x14 | 0x15 => read_stream_control(reader, kind),
        0x12 | 0x13 | 0x16 | 0x17 => return read_streams_limit(reader, kind),
        0x18 => return read_new_connection_id(reader),
        0x19 => reader.varint().map(Frame::RetireConnectionId),
        0x1a => reader.array().map(Frame::PathChallenge),
        0x1b => reader.array().map(Frame::PathResponse),
        0x1c | 0x1d => read_close(reader, kind == 0x1c),
        0x1e => Some(Frame::HandshakeDone),
        0x1f => Some(Frame::ImmediateAck),
        // RFC 9221 §4.
        0x30 => reader.take(reader.rest().len()).map(Frame::Datagram),
        0x31 => reader.take_varint().map(Frame::Datagram),
        // 0xaf, in its shortest encoding. RFC 9000 §12.4.
        0x40 if reader.u8() == Some(0xaf) => read_ack_frequency(reader),
        _ => return Err("its type is not known"),
    };
    frame.ok_or(SHORT)
}

fn read_crypto<'a>(reader: &mut VarintReader<'a>) -> Read<Frame<'a>> {
    let offset = reader.varint().ok_or(SHORT)?;
    let data = reader.take_varint().ok_or(SHORT)?;
    if offset + data.len() as u64 > MAX_VARINT {
        return Err("CRYPTO data reaches beyond the largest offset");
    }
    Ok(Frame::Crypto { offset, data })
}

fn read_stream_control<'a>(reader: &mut VarintReader<'a>, kind: u8) -> Option<Frame<'a>> {
    let first = reader.varint()?;
    Some(match kind {
        0x04 => Frame::ResetStream {
            id: first,
            code: reader.varint()?,
            size: reader.varint()?,
        },
        0x05 => Frame::StopSending {
            id: first,
            code: reader.varint()?,
        },
        0x10 => Frame::MaxData(first),
        0x11 => Frame::MaxStreamData {
            id: first,
            limit: reader.varint()?,
        },
        0x14 => Frame::DataBlocked(first),
        _ => Frame::StreamDataBlocked {
            id: first,
            limit: reader.varint()?,
        },
    })
}

/// RFC 9000 §19.11 and §19.14.
fn read_streams_limit<'a>(reader: &mut VarintReader<'a>, kind: u8) -> Read<Frame<'a>> {
    let limit = reader.varint().ok_or(SHORT)?;
    if limit > MAX_STREAMS {
        return Err("it allows more streams than can exist");
    }
    let bidi = kind & 1 == 0;
    Ok(if kind < 0x14 {
        Frame::MaxStreams { bidi, limit }
    } else {
        Frame::StreamsBlocked { bidi, limit }
    })
}

/// RFC 9000 §19.15.
fn read_new_connection_id<'a>(reader: &mut VarintReader<'a>) -> Read<Frame<'a>> {
    let sequence = reader.varint().ok_or(SHORT)?;
    let retire_prior_to = reader.varint().ok_or(SHORT)?;
    let length = reader.u8().ok_or(SHORT)?;
    let id = reader.take(usize::from(length)).ok_or(SHORT)?;
    let reset_token = reader.array().ok_or(SHORT)?;
    if retire_prior_to > sequence {
        return Err("a NEW_CONNECTION_ID retires itself");
    }
    let id = ConnectionId::new(id)
        .filter(|id| !id.is_empty())
        .ok_or("a new connection id does not have 1 to 20 bytes")?;
    Ok(Frame::NewConnectionId {
        sequence,
        retire_prior_to,
        id,
        reset_token,
    })
}

/// RFC 9000 §19.19.
fn read_close<'a>(reader: &mut VarintReader<'a>, by_transport: bool) -> Option<Frame<'a>> {
    let code = reader.varint()?;
    let frame = if by_transport {
        Some(reader.varint()?)
    } else {
        None
    };
    let reason = reader.take_varint()?;
    Some(Frame::Close {
        code,
        frame,
        reason,
    })
}

fn read_ack_frequency<'a>(reader: &mut VarintReader<'a>) -> Option<Frame<'a>> {
    Some(Frame::AckFrequency {
        sequence: reader.varint()?,
        threshold: reader.varint()?,
        max_delay_us: reader.varint()?,
        reordering: reader.varint()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(payload: &[u8]) -> Vec<Result<Frame<'_>>> {
        Frames::new(payload).collect()
    }

    #[test]
    fn every_frame_of_an_initial_is_read() {
        let payload = [
            &[0, 0, 0, 1][..],
            &[0x02, 10, 0, 1, 2, 0, 1],
            &[0x03, 0, 7, 0, 0, 1, 2, 3],
            &[0x06, 0x40, 0x64, 2, 8, 9],
            &[0x1c, 0x41, 0x28, 6, 3, b'n', b'o', b'\n'],
        ]
        .concat();
        let read: Vec<_> = frames(&payload).into_iter().map(Result::unwrap).collect();
        let [padding, ping, ack, marked, crypto, close] = read.as_slice() else {
            panic!("{read:?}");
        };
        assert_eq!((padding, ping), (&Frame::Padding(3), &Frame::Ping));
        let (Frame::Ack(ack), Frame::Ack(marked)) = (ack, marked) else {
            panic!("{ack:?} {marked:?}");
        };
        assert_eq!((ack.largest, ack.delay, ack.ecn), (10, 0, None));
        assert_eq!(ack.ranges().collect::<Vec<_>>(), [8..=10, 5..=6]);
        assert_eq!((marked.delay, marked.ecn), (7, Some([1, 2, 3])));
        assert_eq!(marked.ranges().collect::<Vec<_>>(), [0..=0]);
        let data = &[8, 9][..];
        assert_eq!(*crypto, Frame::Crypto { offset: 100, data });
        assert_eq!(
            *close,
            Frame::Close {
                code: 0x128,
                frame: Some(6),
                reason: b"no\n"
            }
        );
    }

    #[test]
    fn nonsense_ends_the_payload() {
        let top = [0xff; 8];
        let cases = [
            &[0x06, 0, 9, 1][..],
            &[0x02, 1, 0, 0, 2],
            &[0x02, 5, 0, 1, 0, 4, 0],
            &[0x02, 5, 0, 0x80, 0xff, 0xff, 0xff, 0],
            // Data beyond the largest offset.
            &[&[0x0e, 0][..], &top, &[1, 1]].concat(),
            &[&[0x06][..], &top, &[1, 1]].concat(),
            // More streams than there can be.
            &[0x12, 0xd0, 0, 0, 0, 0, 0, 0, 1],
            // An empty token; ids of no bytes and of 21; an id that retires itself.
            &[0x07, 0],
            &[&[0x18, 1, 0, 0][..], &[7; 16]].concat(),
            &[&[0x18, 1, 0, 21][..], &[7; 21 + 16]].concat(),
            &[&[0x18, 1, 2, 4][..], &[7; 4 + 16]].concat(),
            // Unknown types, and one that is not in its shortest encoding.
            &[0x20],
            &[0x40, 0x30],
            &[0x40, 0x01],
            &[0x80, 0, 0, 0xaf, 0, 0, 0, 0],
        ];
        for payload in cases {
            let read = frames(payload);
            assert!(matches!(read.as_slice(), [Err(_)]), "{payload:?}: {read:?}");
        }
    }
}
