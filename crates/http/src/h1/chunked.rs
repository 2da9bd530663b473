//! The chunked transfer coding, taken apart as it comes. RFC 9112 §7.1.

use crate::HttpError;

/// A chunk's size line or a trailer line may be this long.
const LONGEST_LINE: usize = 8 * 1024;

#[derive(Debug, Default)]
pub(super) struct Chunked {
    state: State,
    line: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Size,
    Data(u64),
    /// The line break after a chunk's data.
    DataEnd,
    Trailer,
    Done,
}

impl Chunked {
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes what it can from `bytes`, hands data to `out`, and says how much it took.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        out: &mut dyn FnMut(&[u8]) -> Result<(), HttpError>,
    ) -> Result<usize, HttpError> {
        let mut rest = bytes;
        while !rest.is_empty() && self.state != State::Done {
            if let State::Data(left) = self.state {
                let (data, after) =
                    rest.split_at(rest.len().min(left.min(usize::MAX as u64) as usize));
                out(data)?;
                rest = after;
                let left = left - data.len() as u64;
                self.state = if left == 0 {
                    State::DataEnd
                } else {
                    State::Data(left)
                };
            } else {
                rest = self.feed_line(rest)?;
            }
        }
        Ok(bytes.len() - rest.len())
    }

    /// Gathers a line; acts on it when it is whole.
    fn feed_line<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], HttpError> {
        let end = bytes.iter().position(|b| *b == b'\n');
        let (part, rest) = bytes.split_at(end.map_or(bytes.len(), |e| e + 1));
        self.line.extend_from_slice(part);
        if self.line.len() > LONGEST_LINE {
            return Err(HttpError::Malformed("a chunk's size line"));
        }
        if end.is_some() {
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            self.state = self.after(line)?;
        }
        Ok(rest)
    }

    fn after(&self, line: &[u8]) -> Result<State, HttpError> {
        match self.state {
            State::Size => match size(line)? {
                0 => Ok(State::Trailer),
                n => Ok(State::Data(n)),
            },
            State::DataEnd if line.is_empty() => Ok(State::Size),
            State::DataEnd => Err(HttpError::Malformed("a chunk's end")),
            State::Trailer if line.is_empty() => Ok(State::Done),
            state => Ok(state),
        }
    }
}

/// Hexadecimal digits; extensions after a semicolon are ignored. RFC 9112 §7.1.1.
fn size(line: &[u8]) -> Result<u64, HttpError> {
    let digits = line
        .split(|b| *b == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    let malformed = HttpError::Malformed("a chunk's size");
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(malformed);
    }
    let text = std::str::from_utf8(digits).unwrap_or_default();
    u64::from_str_radix(text, 16).map_err(|_| malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(parts: &[&[u8]]) -> Result<(Vec<u8>, bool), HttpError> {
        let (mut chunked, mut out, mut pending) = (Chunked::default(), Vec::new(), Vec::new());
        for part in parts {
            pending.extend_from_slice(part);
            let used = chunked.feed(&pending, &mut |data| {
                out.extend_from_slice(data);
                Ok(())
            })?;
            pending.drain(..used);
        }
        Ok((out, chunked.is_done()))
    }

    const WIRE: &[u8] = b"4;ext=1\r\nWiki\r\n5\r\npedia\r\n0\r\nTrailer: x\r\n\r\n";

    #[test]
    fn chunks_come_together() {
        assert_eq!(decode(&[WIRE]).unwrap(), (b"Wikipedia".to_vec(), true));
        let bytes: Vec<&[u8]> = WIRE.chunks(1).collect();
        assert_eq!(decode(&bytes).unwrap(), (b"Wikipedia".to_vec(), true));
        assert!(!decode(&[&WIRE[..12]]).unwrap().1);
    }

    #[test]
    fn bad_chunks_are_refused() {
        for bad in [
            b"\r\n".as_slice(),
            b"g\r\n",
            b"-1\r\n",
            b"1\r\nab\r\n",
            b"fffffffffffffffff\r\n",
        ] {
            assert!(decode(&[bad]).is_err(), "{bad:?}");
        }
        assert!(decode(&[&[b'1'; LONGEST_LINE + 1]]).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(parts: Vec<Vec<u8>>) {
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let _ = decode(&parts);
        }
    }
}
