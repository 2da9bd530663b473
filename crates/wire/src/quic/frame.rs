//! The frames that Initial packets may carry. RFC 9000 §12.4 and §19.

use std::ops::RangeInclusive;

use crate::Result;
use crate::cursor::Cursor;
use crate::text::printable;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame<'a> {
    /// As many bytes of it as stand in a row.
    Padding(usize),
    Ping,
    Ack {
        /// In the sender's units: its `ack_delay_exponent` is not known yet. RFC 9000 §19.3.
        delay: u64,
        /// From the highest packet numbers down.
        ranges: Vec<RangeInclusive<u64>>,
    },
    Crypto {
        offset: u64,
        data: &'a [u8],
    },
    Close {
        /// 0x0100 and above carry a TLS alert in the low byte. RFC 9001 §4.8.
        code: u64,
        reason: String,
    },
}

/// The frames of an opened payload; an error is the last item.
#[derive(Debug, Clone)]
pub struct Frames<'a> {
    cursor: Cursor<'a>,
    broken: bool,
}

impl<'a> Frames<'a> {
    pub fn new(payload: &'a [u8]) -> Self {
        Self {
            cursor: Cursor::new("QUIC frame", payload),
            broken: false,
        }
    }

    fn read(&mut self) -> Result<Frame<'a>> {
        let cursor = &mut self.cursor;
        match cursor.varint()? {
            0x00 => {
                let more = cursor.rest().iter().take_while(|byte| **byte == 0).count();
                cursor.take(more)?;
                Ok(Frame::Padding(more + 1))
            }
            0x01 => Ok(Frame::Ping),
            0x02 => read_ack(cursor),
            0x03 => {
                let ack = read_ack(cursor)?;
                for _ecn_count in 0..3 {
                    cursor.varint()?;
                }
                Ok(ack)
            }
            0x06 => Ok(Frame::Crypto {
                offset: cursor.varint()?,
                data: cursor.take_varint()?,
            }),
            0x1c => {
                let code = cursor.varint()?;
                cursor.varint()?; // the type of the frame at fault
                let reason = printable(cursor.take_varint()?);
                Ok(Frame::Close { code, reason })
            }
            _ => Err(cursor.malformed("its type is not allowed in an Initial packet")),
        }
    }
}

/// RFC 9000 §19.3.1: ranges and the gaps between them, counted downwards.
fn read_ack<'a>(cursor: &mut Cursor<'_>) -> Result<Frame<'a>> {
    let mut largest = cursor.varint()?;
    let delay = cursor.varint()?;
    let more = cursor.varint()?;
    let below_zero = cursor.malformed("an ACK reaches below packet number 0");
    let mut smallest = largest
        .checked_sub(cursor.varint()?)
        .ok_or_else(|| below_zero.clone())?;
    let mut ranges = vec![smallest..=largest];
    for _ in 0..more {
        let gap = cursor.varint()?;
        let length = cursor.varint()?;
        largest = smallest
            .checked_sub(gap + 2)
            .ok_or_else(|| below_zero.clone())?;
        smallest = largest
            .checked_sub(length)
            .ok_or_else(|| below_zero.clone())?;
        ranges.push(smallest..=largest);
    }
    Ok(Frame::Ack { delay, ranges })
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.broken || self.cursor.is_empty() {
            return None;
        }
        let frame = self.read();
        self.broken = frame.is_err();
        Some(frame)
    }
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
        assert_eq!(
            frames(&payload),
            [
                Ok(Frame::Padding(3)),
                Ok(Frame::Ping),
                Ok(Frame::Ack {
                    delay: 0,
                    ranges: vec![8..=10, 5..=6]
                }),
                Ok(Frame::Ack {
                    delay: 7,
                    ranges: vec![0..=0]
                }),
                Ok(Frame::Crypto {
                    offset: 100,
                    data: &[8, 9]
                }),
                Ok(Frame::Close {
                    code: 0x128,
                    reason: "no\u{fffd}".into()
                }),
            ]
        );
    }

    #[test]
    fn nonsense_ends_the_payload() {
        for payload in [
            &[0x08, 0, 0][..],
            &[0x06, 0, 9, 1],
            &[0x02, 1, 0, 0, 2],
            &[0x02, 5, 0, 1, 0, 4, 0],
        ] {
            let read = frames(payload);
            assert!(matches!(read.as_slice(), [Err(_)]), "{payload:?}: {read:?}");
        }
    }
}
