//! Chunked bodies of clients and backends: refuses anything that could be read in two ways, and
//! removes trailers that may not pass. `roundtrip_wire::http1` reads the coding.

use roundtrip_wire::http1::{self, ChunkError, ChunkedLimits, Strictness};

use super::trailers::{MAX_SECTION, Trailers};

const LIMITS: ChunkedLimits = ChunkedLimits {
    // Fifteen digits exceed any disk.
    size_digits: 15,
    line: 4 * 1024,
    // No trailers are skipped.
    trailers: 0,
    section: MAX_SECTION,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunked {
    coding: http1::Chunked,
    trailers: Trailers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FramingError;

impl From<ChunkError> for FramingError {
    fn from(_: ChunkError) -> Self {
        Self
    }
}

impl Default for Chunked {
    fn default() -> Self {
        Self {
            coding: http1::Chunked::new(Strictness::Strict, LIMITS),
            trailers: Trailers::default(),
        }
    }
}

impl Chunked {
    pub(crate) fn is_done(&self) -> bool {
        self.coding.is_done()
    }

    /// The trailers that may pass; empty before the end.
    pub(crate) fn trailers(&mut self) -> Trailers {
        std::mem::take(&mut self.trailers)
    }

    /// Takes the part of the body that `bytes` holds, passes each piece of data to `data`, and
    /// returns how many bytes it used.
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        mut data: impl FnMut(&[u8]),
    ) -> Result<usize, FramingError> {
        let used = self.coding.feed(bytes, |piece| {
            data(piece);
            Ok::<(), FramingError>(())
        })?;
        let section = self.coding.take_section();
        if !section.is_empty() {
            self.trailers = Trailers::read(&section)?;
        }
        Ok(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_trailers_are_refused() {
        for bad in [
            "0\r\nA\r\n\r\n",
            "0\r\nA : b\r\n\r\n",
            "0\r\nA: b\r\n c\r\n\r\n",
            "0\r\nA: b\n\r\n",
        ] {
            let mut coding = Chunked::default();
            assert_eq!(
                coding.take(bad.as_bytes(), |_| ()),
                Err(FramingError),
                "{bad:?}"
            );
        }
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
}
