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

/// In bytes: two integers.
const LONGEST_HEAD: usize = 16;
/// In bytes, for a frame that is kept until it is complete.
const MAX_FRAME: u64 = 1 << 20;

pub(super) enum Read {
    Section { section: Vec<u8>, at: Range<u64> },
    Data { length: u64, at: Range<u64> },
    Encoder { bytes: Vec<u8>, at: Range<u64> },
    MaxTableCapacity(u64),
    GoAway { last: u64, at: Range<u64> },
    Lost { at: Range<u64> },
}

#[derive(Debug, Default)]
pub(super) struct Half {
    state: State,
    held: Vec<u8>,
    began: u64,
}

#[derive(Debug, Clone, Copy, Default)]
enum State {
    /// The type of a unidirectional stream; `Frame` for others.
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
    /// Another type of stream, or the start of the next frame is unknown.
    Unread,
}

impl Half {
    pub(super) fn push(
        &mut self,
        is_unidirectional: bool,
        bytes: &[u8],
        at: Range<u64>,
        each: &mut dyn FnMut(Read),
    ) {
        if matches!(self.state, State::Start) && !is_unidirectional {
            self.state = State::Frame;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = self.step(rest, &at, each);
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    pub(super) fn skip(&mut self, length: u64, at: Range<u64>, each: &mut dyn FnMut(Read)) {
        match &mut self.state {
            State::Unread => {}
            State::Data(left) | State::Passed(left) if length <= *left => {
                *left -= length;
                if *left == 0 {
                    self.state = State::Frame;
                }
            }
            _ => {
                self.state = State::Unread;
                self.held = Vec::new();
                each(Read::Lost { at });
            }
        }
    }

    /// Continues reading, and returns how many bytes that took: at least one.
    fn step(&mut self, rest: &[u8], at: &Range<u64>, each: &mut dyn FnMut(Read)) -> usize {
        if self.held.is_empty() && !matches!(self.state, State::Whole { .. }) {
            self.began = at.start;
        }
        match self.state {
            State::Start | State::Frame => {
                self.held
                    .extend_from_slice(rest.get(..1).unwrap_or_default());
                self.read_integers(at, each);
                1
            }
            State::Whole { kind, length } => {
                let missing = (length - self.held.len() as u64) as usize;
                let taken = missing.min(rest.len());
                self.held
                    .extend_from_slice(rest.get(..taken).unwrap_or_default());
                if taken == missing {
                    let content = std::mem::take(&mut self.held);
                    self.state = State::Frame;
                    read_frame(kind, content, self.began..at.end, each);
                }
                taken
            }
            State::Data(left) | State::Passed(left) => {
                let taken = left.min(rest.len() as u64);
                let left = left - taken;
                if let State::Data(_) = self.state {
                    let (length, at) = (taken, at.clone());
                    each(Read::Data { length, at });
                }
                self.state = match self.state {
                    _ if left == 0 => State::Frame,
                    State::Data(_) => State::Data(left),
                    _ => State::Passed(left),
                };
                taken as usize
            }
            State::Encoder => {
                let (bytes, at) = (rest.to_vec(), at.clone());
                each(Read::Encoder { bytes, at });
                rest.len()
            }
            State::Unread => rest.len(),
        }
    }

    /// The type of a stream, or the head of a frame, as soon as it is complete.
    fn read_integers(&mut self, at: &Range<u64>, each: &mut dyn FnMut(Read)) {
        let Some((first, behind)) = varint(&self.held) else {
            return;
        };
        if matches!(self.state, State::Start) {
            self.held.clear();
            self.state = match first {
                CONTROL => State::Frame,
                QPACK_ENCODER => State::Encoder,
                _ => State::Unread,
            };
            return;
        }
        let Some((length, _)) = varint(behind) else {
            return;
        };
        debug_assert!(self.held.len() <= LONGEST_HEAD);
        self.held.clear();
        let is_kept = matches!(first, HEADERS | SETTINGS | GOAWAY);
        self.state = match first {
            _ if is_kept && length > MAX_FRAME => {
                each(Read::Lost { at: at.clone() });
                State::Unread
            }
            _ if is_kept && length > 0 => State::Whole {
                kind: first,
                length,
            },
            _ if length == 0 => State::Frame,
            DATA => State::Data(length),
            _ => State::Passed(length),
        };
    }
}

fn read_frame(kind: u64, content: Vec<u8>, at: Range<u64>, each: &mut dyn FnMut(Read)) {
    match kind {
        HEADERS => each(Read::Section {
            section: content,
            at,
        }),
        GOAWAY => {
            if let Some((last, _)) = varint(&content) {
                each(Read::GoAway { last, at });
            }
        }
        _ => {
            let mut rest = content.as_slice();
            while let Some((name, behind)) = varint(rest)
                && let Some((value, behind)) = varint(behind)
            {
                if name == QPACK_MAX_TABLE_CAPACITY {
                    each(Read::MaxTableCapacity(value));
                }
                rest = behind;
            }
        }
    }
}

/// An integer and the bytes after it. RFC 9000 §16.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let first = *bytes.first()?;
    let (integer, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    let value = integer
        .iter()
        .fold(0, |value, byte| value << 8 | u64::from(*byte));
    let bits = 8 * integer.len() as u32 - 2;
    Some((value & (u64::MAX >> (64 - bits)), rest))
}
