//! The chunked coding, taken apart in place: sizes are read strictly, extensions are left behind. RFC 9112 §7.1.

use std::io::Write;

use super::trailers::{LARGEST_SECTION, Trailers};

/// Of a size with its extensions.
const LONGEST_LINE: usize = 4 * 1024;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Chunked {
    state: State,
    line: usize,
    /// What has come of the trailers.
    section: Vec<u8>,
    trailers: Trailers,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Digits of a size, and how many there were.
    #[default]
    Start,
    Size(u64, u8),
    /// After blanks, where an extension or the line's end may come. RFC 9112 §7.1.1.
    Blank(u64),
    Extension(u64),
    /// The LF that must follow the CR after a size.
    SizeEnd(u64),
    Data(u64),
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    LastLf,
    Done,
}

/// What one step found in the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fed {
    /// So many bytes are consumed; the last `data` of them are the body's.
    Data { consumed: usize, data: usize },
    /// All bytes are consumed, and more must come.
    More,
    /// The body is over, `consumed` bytes on.
    Done { consumed: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Chunked {
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// What came behind the data and may go on; nothing before the end.
    pub(crate) fn trailers(&mut self) -> Trailers {
        std::mem::take(&mut self.trailers)
    }

    /// Takes what `bytes` hold of the body, hands each piece of data to `data`, and says how many bytes that were.
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        mut data: impl FnMut(&[u8]),
    ) -> Result<usize, Malformed> {
        let mut used = 0;
        while used < bytes.len() && !self.is_done() {
            let rest = bytes.get(used..).unwrap_or_default();
            used += match self.feed(rest)? {
                Fed::Data {
                    consumed,
                    data: length,
                } => {
                    data(rest.get(consumed - length..consumed).unwrap_or_default());
                    consumed
                }
                Fed::More => rest.len(),
                Fed::Done { consumed } => consumed,
            };
        }
        Ok(used)
    }

    /// Goes on to the next piece of data in `bytes`.
    fn feed(&mut self, bytes: &[u8]) -> Result<Fed, Malformed> {
        for (at, byte) in bytes.iter().enumerate() {
            if let State::Data(left) = self.state {
                let here = bytes.len() - at;
                let data = here.min(usize::try_from(left).unwrap_or(usize::MAX));
                let left = left - data as u64;
                self.state = if left == 0 {
                    State::DataCr
                } else {
                    State::Data(left)
                };
                let consumed = at + data;
                return Ok(Fed::Data { consumed, data });
            }
            self.keep(*byte)?;
            self.state = self.step(*byte)?;
            if self.state == State::Done {
                if !self.section.is_empty() {
                    self.trailers = Trailers::read(&std::mem::take(&mut self.section))?;
                }
                return Ok(Fed::Done { consumed: at + 1 });
            }
        }
        Ok(Fed::More)
    }

    fn step(&mut self, byte: u8) -> Result<State, Malformed> {
        let state = match (self.state, byte) {
            (State::Start, _) => State::Size(u64::from(hex(byte)?), 1),
            (State::Size(size, _) | State::Blank(size) | State::Extension(size), b'\r') => {
                State::SizeEnd(size)
            }
            (State::Size(size, _), b' ' | b'\t') => {
                self.line = 0;
                State::Blank(size)
            }
            (State::Blank(size), b' ' | b'\t') => {
                self.lengthen()?;
                State::Blank(size)
            }
            (State::Size(size, _) | State::Blank(size), b';') => {
                self.line = 0;
                State::Extension(size)
            }
            // Fifteen digits are more than any disk holds.
            (State::Size(size, digits @ ..15), _) => {
                State::Size(size << 4 | u64::from(hex(byte)?), digits + 1)
            }
            // A tab may stand in both; anything else is a line's end to somebody.
            (State::Extension(_) | State::Trailer, control)
                if control.is_ascii_control() && !matches!(control, b'\t' | b'\r') =>
            {
                return Err(Malformed);
            }
            (State::Extension(size), _) => {
                self.lengthen()?;
                State::Extension(size)
            }
            (State::SizeEnd(0) | State::TrailerLf, b'\n') => State::TrailerStart,
            (State::SizeEnd(size), b'\n') => State::Data(size),
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Start,
            (State::TrailerStart, b'\r') => State::LastLf,
            (State::Trailer, b'\r') => State::TrailerLf,
            (State::TrailerStart, b'!'..0x7f) | (State::Trailer, _) => State::Trailer,
            (State::LastLf, b'\n') => State::Done,
            _ => return Err(Malformed),
        };
        Ok(state)
    }

    /// Trailers are kept, with the empty line behind them.
    fn keep(&mut self, byte: u8) -> Result<(), Malformed> {
        let is_of_section = match self.state {
            State::TrailerStart => byte != b'\r' || !self.section.is_empty(),
            State::Trailer | State::TrailerLf => true,
            State::LastLf => !self.section.is_empty(),
            _ => false,
        };
        if is_of_section {
            if self.section.len() == LARGEST_SECTION {
                return Err(Malformed);
            }
            self.section.push(byte);
        }
        Ok(())
    }

    fn lengthen(&mut self) -> Result<(), Malformed> {
        self.line += 1;
        if self.line > LONGEST_LINE {
            return Err(Malformed);
        }
        Ok(())
    }
}

/// A chunk of our own. None for no data: it would be the last one.
pub(crate) fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    // Writing to a Vec does not fail.
    let _ = write!(out, "{:x}\r\n", data.len());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

fn hex(byte: u8) -> Result<u8, Malformed> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        b'A'..=b'F' => Ok(byte - b'A' + 10),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data, and how much of the wire the body took, if it ended.
    fn decode(parts: &[&[u8]]) -> Result<(Vec<u8>, Option<usize>), Malformed> {
        let (mut chunked, mut out, mut used) = (Chunked::default(), Vec::new(), 0);
        for part in parts {
            let mut rest = *part;
            while !rest.is_empty() {
                match chunked.feed(rest)? {
                    Fed::Data { consumed, data } => {
                        out.extend_from_slice(&rest[consumed - data..consumed]);
                        rest = &rest[consumed..];
                        used += consumed;
                    }
                    Fed::More => {
                        used += rest.len();
                        rest = &[];
                    }
                    Fed::Done { consumed } => return Ok((out, Some(used + consumed))),
                }
            }
        }
        Ok((out, None))
    }

    const WIRE: &[u8] = b"4;ext=1\r\nWiki\r\n5\r\npedia\r\n0\r\nTrailer: x\r\n\r\n";

    #[test]
    fn chunks_come_together_however_they_are_cut() {
        let whole = (b"Wikipedia".to_vec(), Some(WIRE.len()));
        assert_eq!(decode(&[WIRE, b"next"]), Ok(whole.clone()));
        for size in 1..WIRE.len() {
            let parts: Vec<&[u8]> = WIRE.chunks(size).collect();
            assert_eq!(decode(&parts), Ok(whole.clone()), "{size}");
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for bad in [
            "\r\n",
            "g\r\n",
            "-1\r\n",
            "+1\r\n",
            "0x1\r\n",
            " 1\r\na\r\n",
            "1\na\r\n",
            "1;x\na\r\n",
            "1\r\nab\r\n",
            "1\r\na\n",
            "1\r\na\r\r\n",
            "0\r\nA: b\n\r\n",
            "0\r\n\n",
            "1000000000000000\r\n",
            "1 1\r\na\r\n",
            "1 \tx\r\na\r\n",
            "1;a\0b\r\na\r\n",
            "0\r\nA: b\x01\r\n\r\n",
            "0\r\n A: b\r\n\r\n",
            "0\r\nA\r\n\r\n",
            "0\r\nA : b\r\n\r\n",
            "0\r\nA: b\r\n c\r\n\r\n",
        ] {
            assert_eq!(decode(&[bad.as_bytes()]), Err(Malformed), "{bad:?}");
        }
        let long = format!("1;{}", "x".repeat(LONGEST_LINE + 1));
        assert_eq!(decode(&[long.as_bytes()]), Err(Malformed));
        // Of which none ends the section.
        for line in ["a: b\r\n", "a\r\n", "a"] {
            let trailers = format!("0\r\n{}", line.repeat(LARGEST_SECTION + 1));
            assert_eq!(decode(&[trailers.as_bytes()]), Err(Malformed));
        }
    }

    #[test]
    fn no_data_is_not_the_last_chunk() {
        let mut out = Vec::new();
        write_chunk(&mut out, b"");
        write_chunk(&mut out, b"a");
        assert_eq!(out, b"1\r\na\r\n");
    }

    #[test]
    fn trailers_are_there_once_the_body_is_over() {
        let wire = b"1\r\na\r\n0\r\nX-Sum: 1\r\nHost: evil\r\n\r\nnext";
        for size in 1..wire.len() {
            let (mut coding, mut left) = (Chunked::default(), wire.as_slice());
            while !coding.is_done() {
                let piece = &left[..size.min(left.len())];
                let used = coding.take(piece, |_| ()).unwrap();
                left = &left[used..];
            }
            let mut out = Vec::new();
            super::super::write_last_chunk(&mut out, &coding.trailers());
            assert_eq!(out, b"0\r\nX-Sum: 1\r\n\r\n");
            assert!(left.len() >= b"next".len());
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(parts: Vec<Vec<u8>>) {
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let _ = decode(&parts);
        }
    }
}
