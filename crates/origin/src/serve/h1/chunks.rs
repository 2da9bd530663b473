//! Chunked bodies (RFC 9112, section 7.1), read from a buffer as it fills.

use bytes::{Bytes, BytesMut};

/// Longest line of a chunk's size with its extensions, and of a trailer.
const LONGEST_LINE: usize = 4096;
const MOST_TRAILERS: u32 = 64;

#[derive(Debug)]
pub(super) enum Chunks {
    Size,
    Data(u64),
    DataEnd,
    Trailers(u32),
    End,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    /// More bytes are needed.
    Need,
    Data(Bytes),
    End,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadChunk;

impl Chunks {
    pub(super) fn decode(&mut self, input: &mut BytesMut) -> Result<Decoded, BadChunk> {
        loop {
            match self {
                Self::Data(left) => {
                    if input.is_empty() {
                        return Ok(Decoded::Need);
                    }
                    let n = usize::try_from(*left)
                        .unwrap_or(usize::MAX)
                        .min(input.len());
                    *left -= n as u64;
                    if *left == 0 {
                        *self = Self::DataEnd;
                    }
                    return Ok(Decoded::Data(input.split_to(n).freeze()));
                }
                Self::End => return Ok(Decoded::End),
                Self::Size | Self::DataEnd | Self::Trailers(_) => {
                    let Some(line) = take_line(input)? else {
                        return Ok(Decoded::Need);
                    };
                    self.line(&line)?;
                }
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), BadChunk> {
        *self = match self {
            Self::Size => match size(line)? {
                0 => Self::Trailers(0),
                n => Self::Data(n),
            },
            Self::DataEnd if line.is_empty() => Self::Size,
            Self::Trailers(_) if line.is_empty() => Self::End,
            Self::Trailers(seen) if *seen < MOST_TRAILERS => Self::Trailers(*seen + 1),
            _ => return Err(BadChunk),
        };
        Ok(())
    }
}

/// One line without its end, when it is there.
fn take_line(input: &mut BytesMut) -> Result<Option<BytesMut>, BadChunk> {
    let window = input.iter().take(LONGEST_LINE);
    let Some(end) = window.clone().position(|b| *b == b'\n') else {
        return if input.len() < LONGEST_LINE {
            Ok(None)
        } else {
            Err(BadChunk)
        };
    };
    let mut line = input.split_to(end + 1);
    line.truncate(end);
    if line.last() == Some(&b'\r') {
        line.truncate(end - 1);
    }
    Ok(Some(line))
}

fn size(line: &[u8]) -> Result<u64, BadChunk> {
    let digits = line.split(|b| *b == b';').next().unwrap_or_default();
    let text = std::str::from_utf8(digits).map_err(|_| BadChunk)?.trim();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(BadChunk);
    }
    u64::from_str_radix(text, 16).map_err(|_| BadChunk)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(bytes: &[u8], step: usize) -> Result<(Vec<u8>, BytesMut), BadChunk> {
        let (mut chunks, mut input, mut data) = (Chunks::Size, BytesMut::new(), Vec::new());
        for piece in bytes.chunks(step) {
            input.extend_from_slice(piece);
            loop {
                match chunks.decode(&mut input)? {
                    Decoded::Data(bytes) => data.extend_from_slice(&bytes),
                    Decoded::Need => break,
                    Decoded::End => {
                        input.extend_from_slice(b"");
                        return Ok((data, input));
                    }
                }
            }
        }
        Err(BadChunk)
    }

    #[test]
    fn chunks_with_extensions_and_trailers_are_read() {
        let body = b"5;a=b\r\nhello\r\n1 \r\n!\r\n0\r\nDigest: x\r\n\r\nGET";
        let (data, rest) = decode(body, body.len()).unwrap();
        assert_eq!(data, b"hello!");
        assert_eq!(&rest[..], b"GET");
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for bad in [
            &b"x\r\n"[..],
            b"-1\r\n",
            b"\r\n",
            b"5\r\nhelloX\r\n",
            b"11111111111111111\r\n",
            &[b'1'; LONGEST_LINE],
        ] {
            assert_eq!(decode(bad, 64), Err(BadChunk));
        }
    }

    proptest! {
        #[test]
        fn any_division_of_the_bytes_reads_the_same(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..50), 0..8), step in 1_usize..40) {
            let mut coded = Vec::new();
            for part in &parts {
                coded.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                coded.extend_from_slice(part);
                coded.extend_from_slice(b"\r\n");
            }
            coded.extend_from_slice(b"0\r\n\r\n");
            prop_assert_eq!(decode(&coded, step).unwrap().0, parts.concat());
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..200), step in 1_usize..40) {
            let _ = decode(&bytes, step);
        }
    }
}
