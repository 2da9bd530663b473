//! The chunked coding, decoded in place and encoded. RFC 9112 §7.1.

#[cfg(test)]
mod tests;

use std::io::Write;
use std::ops::Range;

use super::Strictness;

/// How much a body may hold besides its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkedLimits {
    /// The largest number of hexadecimal digits of a size; more than 16 would overflow.
    pub size_digits: u8,
    /// The largest number of bytes of one line, without the digits of its size.
    pub line: usize,
    /// Lines of trailers that are skipped.
    pub trailers: u32,
    /// Bytes of trailers that are kept.
    pub section: usize,
}

/// A decoder of one body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunked {
    strictness: Strictness,
    limits: ChunkedLimits,
    state: ChunkedState,
    /// The size of this chunk so far, then the rest of its data.
    size: u64,
    /// Digits of the size so far.
    digits: u8,
    /// Bytes of the line so far, without the digits of its size.
    line: usize,
    /// Lines of trailers so far.
    skipped: u32,
    /// Trailers that are read strictly, with the empty line after them.
    section: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkedState {
    /// The first digit of a size is next.
    Start,
    Size,
    /// After blanks, where an extension or the line's end may come. RFC 9112 §7.1.1.
    Blank,
    Extension,
    /// The LF that must follow the CR after a size is next.
    SizeEnd,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    LastLf,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    #[error("a chunk's size is not a number")]
    Size,
    #[error("a chunk's extension holds a control character")]
    Extension,
    #[error("a line between chunks is too long")]
    LongLine,
    #[error("a chunk does not end where its size says")]
    End,
    #[error("the trailers are malformed, or too many")]
    Trailers,
}

impl Chunked {
    pub fn new(strictness: Strictness, limits: ChunkedLimits) -> Self {
        Self {
            strictness,
            limits,
            state: ChunkedState::Start,
            size: 0,
            digits: 0,
            line: 0,
            skipped: 0,
            section: Vec::new(),
        }
    }

    pub fn is_done(&self) -> bool {
        self.state == ChunkedState::Done
    }

    /// Takes the trailers, with the empty line that ends them. The result is empty if there are no
    /// trailers, if the body has not ended, or if they are not read strictly.
    pub fn take_section(&mut self) -> Vec<u8> {
        if self.is_done() {
            std::mem::take(&mut self.section)
        } else {
            Vec::new()
        }
    }

    /// Counts data that was consumed elsewhere, and returns whether all of it was within one chunk.
    pub fn skip_data(&mut self, length: u64) -> bool {
        if self.state != ChunkedState::Data || length > self.size {
            return false;
        }
        self.size -= length;
        if self.size == 0 {
            self.state = ChunkedState::DataCr;
        }
        true
    }

    /// Passes each piece of data in `bytes` to `take`, and returns how many bytes belong to the
    /// body.
    pub fn feed<E: From<ChunkError>>(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut used = 0;
        while used < bytes.len() && !self.is_done() {
            let rest = bytes.get(used..).unwrap_or_default();
            let data = self.next(rest)?;
            used += data.end;
            if !data.is_empty() {
                take(rest.get(data).unwrap_or_default())?;
            }
        }
        Ok(used)
    }

    /// Continues to the next piece of data, and returns its position in `bytes`. All bytes up to
    /// its end are consumed. It is empty if the body, or `bytes`, ended first.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Range<usize>, ChunkError> {
        match self.strictness {
            Strictness::Strict => self.walk(bytes, Self::strict),
            Strictness::Tolerant | Strictness::AsCurl => self.walk(bytes, Self::tolerant),
        }
    }

    fn walk(
        &mut self,
        bytes: &[u8],
        step: impl Fn(&mut Self, ChunkedState, u8) -> Result<ChunkedState, ChunkError>,
    ) -> Result<Range<usize>, ChunkError> {
        let (mut state, mut at) = (self.state, 0);
        while let Some(byte) = bytes.get(at) {
            match state {
                ChunkedState::Done => break,
                ChunkedState::Data => {
                    let length = usize::try_from(self.size).unwrap_or(usize::MAX);
                    let length = length.min(bytes.len() - at);
                    self.size -= length as u64;
                    self.state = match self.size {
                        0 => ChunkedState::DataCr,
                        _ => ChunkedState::Data,
                    };
                    return Ok(at..at + length);
                }
                _ => state = step(self, state, *byte)?,
            }
            at += 1;
        }
        self.state = state;
        Ok(at..at)
    }

    /// The state after one more byte between data.
    fn strict(&mut self, state: ChunkedState, byte: u8) -> Result<ChunkedState, ChunkError> {
        match state {
            ChunkedState::Start => self.first_digit(byte),
            ChunkedState::Size => match byte {
                b'\r' => Ok(ChunkedState::SizeEnd),
                b' ' | b'\t' => Ok(ChunkedState::Blank),
                b';' => Ok(ChunkedState::Extension),
                _ => self.digit(byte),
            },
            ChunkedState::Blank => match byte {
                b'\r' => Ok(ChunkedState::SizeEnd),
                b' ' | b'\t' => self.lengthen(ChunkedState::Blank),
                b';' => Ok(ChunkedState::Extension),
                _ => Err(ChunkError::Size),
            },
            ChunkedState::Extension => match byte {
                b'\r' => Ok(ChunkedState::SizeEnd),
                _ if is_control(byte) => Err(ChunkError::Extension),
                _ => self.lengthen(ChunkedState::Extension),
            },
            ChunkedState::SizeEnd if byte == b'\n' => Ok(self.data()),
            ChunkedState::SizeEnd => Err(ChunkError::Size),
            ChunkedState::DataCr if byte == b'\r' => Ok(ChunkedState::DataLf),
            ChunkedState::DataLf if byte == b'\n' => Ok(ChunkedState::Start),
            ChunkedState::DataCr | ChunkedState::DataLf => Err(ChunkError::End),
            _ => self.strict_trailer(state, byte),
        }
    }

    /// Trailers are kept, with the empty line after them.
    fn strict_trailer(
        &mut self,
        state: ChunkedState,
        byte: u8,
    ) -> Result<ChunkedState, ChunkError> {
        let next = match (state, byte) {
            (ChunkedState::TrailerStart, b'\r') => ChunkedState::LastLf,
            (ChunkedState::Trailer, b'\r') => ChunkedState::TrailerLf,
            (ChunkedState::Trailer, control) if is_control(control) => {
                return Err(ChunkError::Trailers);
            }
            (ChunkedState::TrailerStart, b'!'..0x7f) | (ChunkedState::Trailer, _) => {
                ChunkedState::Trailer
            }
            (ChunkedState::TrailerLf, b'\n') => ChunkedState::TrailerStart,
            (ChunkedState::LastLf, b'\n') => ChunkedState::Done,
            _ => return Err(ChunkError::Trailers),
        };
        // An empty line alone is not a section.
        let is_last = matches!(next, ChunkedState::LastLf | ChunkedState::Done);
        if !is_last || !self.section.is_empty() {
            if self.section.len() >= self.limits.section {
                return Err(ChunkError::Trailers);
            }
            self.section.push(byte);
        }
        Ok(next)
    }

    /// Like [`strict`](Self::strict), but a line ends in LF, with an optional CR before it.
    fn tolerant(&mut self, state: ChunkedState, byte: u8) -> Result<ChunkedState, ChunkError> {
        let is_blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\x0c');
        match state {
            ChunkedState::Start if is_blank => self.lengthen(ChunkedState::Start),
            ChunkedState::Start => self.first_digit(byte),
            ChunkedState::Size | ChunkedState::Blank | ChunkedState::Extension if byte == b'\n' => {
                Ok(self.data())
            }
            ChunkedState::Extension => self.lengthen(ChunkedState::Extension),
            ChunkedState::Size | ChunkedState::Blank if byte == b';' => {
                self.lengthen(ChunkedState::Extension)
            }
            ChunkedState::Size | ChunkedState::Blank if is_blank => {
                self.lengthen(ChunkedState::Blank)
            }
            ChunkedState::Size => self.digit(byte),
            ChunkedState::Blank => Err(ChunkError::Size),
            ChunkedState::DataCr if byte == b'\r' => Ok(ChunkedState::DataLf),
            ChunkedState::DataCr | ChunkedState::DataLf if byte == b'\n' => Ok(ChunkedState::Start),
            ChunkedState::TrailerStart if byte == b'\r' => Ok(ChunkedState::LastLf),
            ChunkedState::TrailerStart | ChunkedState::LastLf if byte == b'\n' => {
                Ok(ChunkedState::Done)
            }
            ChunkedState::TrailerStart | ChunkedState::LastLf | ChunkedState::Trailer => {
                self.skip_trailer(byte)
            }
            _ => Err(ChunkError::End),
        }
    }

    fn skip_trailer(&mut self, byte: u8) -> Result<ChunkedState, ChunkError> {
        if byte == b'\n' {
            self.line = 0;
            self.skipped = self.skipped.saturating_add(1);
            return Ok(ChunkedState::TrailerStart);
        }
        if self.skipped >= self.limits.trailers {
            return Err(ChunkError::Trailers);
        }
        self.lengthen(ChunkedState::Trailer)
    }

    /// The state after the line of a size.
    fn data(&mut self) -> ChunkedState {
        self.line = 0;
        match self.size {
            0 => ChunkedState::TrailerStart,
            _ => ChunkedState::Data,
        }
    }

    fn first_digit(&mut self, byte: u8) -> Result<ChunkedState, ChunkError> {
        (self.size, self.digits) = (u64::from(hex(byte)?), 1);
        Ok(ChunkedState::Size)
    }

    fn digit(&mut self, byte: u8) -> Result<ChunkedState, ChunkError> {
        if self.digits >= self.limits.size_digits.min(16) {
            return Err(ChunkError::Size);
        }
        self.digits += 1;
        self.size = self.size << 4 | u64::from(hex(byte)?);
        Ok(ChunkedState::Size)
    }

    /// Counts one more byte of a line; `next` is the state after it.
    fn lengthen(&mut self, next: ChunkedState) -> Result<ChunkedState, ChunkError> {
        if self.line >= self.limits.line {
            return Err(ChunkError::LongLine);
        }
        self.line += 1;
        Ok(next)
    }
}

/// Appends one chunk. Empty data is skipped, because it would be the last chunk.
pub fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    // Writing to a Vec does not fail.
    let _ = write!(out, "{:x}\r\n", data.len());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// CR ends a line and is checked before; a tab is allowed in one.
fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}

fn hex(byte: u8) -> Result<u8, ChunkError> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        b'A'..=b'F' => Ok(byte - b'A' + 10),
        _ => Err(ChunkError::Size),
    }
}
