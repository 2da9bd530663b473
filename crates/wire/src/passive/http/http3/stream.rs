//! Splits one direction of an HTTP/3 stream: frames of requests and of the control stream, and the
//! encoder's instructions. RFC 9114 §6 and §7.

use std::ops::Range;

const CONTROL: u64 = 0;
const QPACK_ENCODER: u64 = 2;

const DATA: u64 = 0;
const HEADERS: u64 = 1;
const SETTINGS: u64 = 4;
const GOAWAY: u64 = 7;

/// RFC 9204 §5.
const QPACK_MAX_TABLE_CAPACITY: u64 = 1;

/// The longest head of a frame in bytes: two integers.
const MAX_HEAD_LENGTH: usize = 16;
/// The largest size in bytes of a frame that is stored until it is complete.
const MAX_FRAME: u64 = 1 << 20;

pub(super) enum Http3Item {
    Section { section: Vec<u8>, at: Range<u64> },
    Data { length: u64, at: Range<u64> },
    Encoder { bytes: Vec<u8>, at: Range<u64> },
    MaxTableCapacity(u64),
    GoAway { last: u64, at: Range<u64> },
    Lost { at: Range<u64> },
}

#[derive(Debug, Default)]
pub(super) struct Http3Half {
    state: Http3State,
    held: Vec<u8>,
    began: u64,
}

#[derive(Debug, Clone, Copy, Default)]
enum Http3State {
    /// The type of a unidirectional stream is next. All other streams begin with `Frame`.
    #[default]
    Start,
    Frame,
    Whole {
        kind: u64,
        length: u64,
    },
    Data(u64),
    /// The rest of a frame that is not needed.
    Passed(u64),
    Encoder,
    /// This is another type of stream, or the start of the next frame is unknown.
    Unread,
}

impl Http3Half {
    /// The number of bytes of a frame that are held.
    pub(super) fn held(&self) -> usize {
        self.held.capacity()
    }

    pub(super) fn push(
        &mut self,
        is_unidirectional: bool,
        bytes: &[u8],
        at: Range<u64>,
        each: &mut dyn FnMut(Http3Item),
    ) {
        if matches!(self.state, Http3State::Start) && !is_unidirectional {
            self.state = Http3State::Frame;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = self.step(rest, &at, each);
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    pub(super) fn skip(&mut self, length: u64, at: Range<u64>, each: &mut dyn FnMut(Http3Item)) {
        match &mut self.state {
            Http3State::Unread => {}
            Http3State::Data(left) | Http3State::Passed(left) if length <= *left => {
                *left -= length;
                if *left == 0 {
                    self.state = Http3State::Frame;
                }
            }
            _ => {
                self.state = Http3State::Unread;
                self.held = Vec::new();
                each(Http3Item::Lost { at });
            }
        }
    }

    /// Continues reading, and returns how many bytes that took: at least one.
    fn step(&mut self, rest: &[u8], at: &Range<u64>, each: &mut dyn FnMut(Http3Item)) -> usize {
        if self.held.is_empty() && !matches!(self.state, Http3State::Whole { .. }) {
            self.began = at.start;
        }
        match self.state {
            Http3State::Start | Http3State::Frame => {
                self.held
                    .extend_from_slice(rest.get(..1).unwrap_or_default());
                self.read_integers(at, each);
                1
            }
            Http3State::Whole { kind, length } => {
                let missing = (length - self.held.len() as u64) as usize;
                let taken = missing.min(rest.len());
                self.held
                    .extend_from_slice(rest.get(..taken).unwrap_or_default());
                if taken == missing {
                    let content = std::mem::take(&mut self.held);
                    self.state = Http3State::Frame;
                    read_frame(kind, content, self.began..at.end, each);
                }
                taken
            }
            Http3State::Data(left) | Http3State::Passed(left) => {
                let taken = left.min(rest.len() as u64);
                let left = left - taken;
                if let Http3State::Data(_) = self.state {
                    let (length, at) = (taken, at.clone());
                    each(Http3Item::Data { length, at });
                }
                self.state = match self.state {
                    _ if left == 0 => Http3State::Frame,
                    Http3State::Data(_) => Http3State::Data(left),
                    _ => Http3State::Passed(left),
                };
                taken as usize
            }
            Http3State::Encoder => {
                let (bytes, at) = (rest.to_vec(), at.clone());
                each(Http3Item::Encoder { bytes, at });
                rest.len()
            }
            Http3State::Unread => rest.len(),
        }
    }

    /// The type of a stream, or the head of a frame, as soon as it is complete.
    fn read_integers(&mut self, at: &Range<u64>, each: &mut dyn FnMut(Http3Item)) {
        let Some((first, behind)) = varint(&self.held) else {
            return;
        };
        if matches!(self.state, Http3State::Start) {
            self.held.clear();
            self.state = match first {
                CONTROL => Http3State::Frame,
                QPACK_ENCODER => Http3State::Encoder,
                _ => Http3State::Unread,
            };
            return;
        }
        let Some((length, _)) = varint(behind) else {
            return;
        };
        debug_assert!(self.held.len() <= MAX_HEAD_LENGTH);
        self.held.clear();
        let is_kept = matches!(first, HEADERS | SETTINGS | GOAWAY);
        self.state = match first {
            _ if is_kept && length > MAX_FRAME => {
                each(Http3Item::Lost { at: at.clone() });
                Http3State::Unread
            }
            _ if is_kept && length > 0 => Http3State::Whole {
                kind: first,
                length,
            },
            _ if length == 0 => Http3State::Frame,
            DATA => Http3State::Data(length),
            _ => Http3State::Passed(length),
        };
    }
}

fn read_frame(kind: u64, content: Vec<u8>, at: Range<u64>, each: &mut dyn FnMut(Http3Item)) {
    match kind {
        HEADERS => each(Http3Item::Section {
            section: content,
            at,
        }),
        GOAWAY => {
            if let Some((last, _)) = varint(&content) {
                each(Http3Item::GoAway { last, at });
            }
        }
        _ => {
            let mut rest = content.as_slice();
            while let Some((name, behind)) = varint(rest)
                && let Some((value, behind)) = varint(behind)
            {
                if name == QPACK_MAX_TABLE_CAPACITY {
                    each(Http3Item::MaxTableCapacity(value));
                }
                rest = behind;
            }
        }
    }
}

/// Reads an integer; returns it with the bytes after it. RFC 9000 §16.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let first = *bytes.first()?;
    let (integer, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    let value = integer
        .iter()
        .fold(0, |value, byte| value << 8 | u64::from(*byte));
    let bits = 8 * integer.len() as u32 - 2;
    Some((value & (u64::MAX >> (64 - bits)), rest))
}
