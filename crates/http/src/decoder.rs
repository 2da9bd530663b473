//! Removes the coding of content (RFC 9110 §8.4.1) from bytes as they come, and writes the rest on.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

const BROTLI_BUFFER: usize = 4096;

pub enum Decoder<W: Write> {
    Identity(W),
    Gzip(Box<MultiGzDecoder<W>>),
    /// The coding `deflate`, which has the format zlib.
    Zlib(Box<ZlibDecoder<W>>),
    /// Deflate data without the zlib format around it, which some programs send as `deflate`.
    RawDeflate(Box<DeflateDecoder<W>>),
    Brotli(Box<DecompressorWriter<W>>),
}

impl<W: Write> Decoder<W> {
    pub fn gzip(to: W) -> Self {
        Self::Gzip(Box::new(MultiGzDecoder::new(to)))
    }

    pub fn zlib(to: W) -> Self {
        Self::Zlib(Box::new(ZlibDecoder::new(to)))
    }

    pub fn raw_deflate(to: W) -> Self {
        Self::RawDeflate(Box::new(DeflateDecoder::new(to)))
    }

    pub fn brotli(to: W) -> Self {
        Self::Brotli(Box::new(DecompressorWriter::new(to, BROTLI_BUFFER)))
    }

    /// Ends the content: a coding that stopped half way is an error.
    pub fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Identity(to) => to.flush(),
            Self::Gzip(to) => to.try_finish(),
            Self::Zlib(to) => {
                has_ended(to)?;
                to.try_finish()
            }
            Self::RawDeflate(to) => {
                has_ended(to)?;
                to.try_finish()
            }
            Self::Brotli(to) => to.close(),
        }
    }

    /// Where the decoded bytes go.
    pub fn get_mut(&mut self) -> &mut W {
        match self {
            Self::Identity(to) => to,
            Self::Gzip(to) => to.get_mut(),
            Self::Zlib(to) => to.get_mut(),
            Self::RawDeflate(to) => to.get_mut(),
            Self::Brotli(to) => to.get_mut(),
        }
    }

    /// The name of the coding, if there is one.
    pub fn coding(&self) -> Option<&'static str> {
        match self {
            Self::Identity(_) => None,
            Self::Gzip(_) => Some("gzip"),
            Self::Zlib(_) | Self::RawDeflate(_) => Some("deflate"),
            Self::Brotli(_) => Some("br"),
        }
    }
}

/// A stream of `deflate` that has ended takes no further byte, which is the only sign of its end.
fn has_ended(stream: &mut impl Write) -> io::Result<()> {
    match stream.write(&[0])? {
        0 => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

impl<W: Write> Write for Decoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Identity(to) => to.write(bytes),
            Self::Gzip(to) => to.write(bytes),
            Self::Zlib(to) => to.write(bytes),
            Self::RawDeflate(to) => to.write(bytes),
            Self::Brotli(to) => to.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.get_mut().flush()
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    type Make = fn(Vec<u8>) -> Decoder<Vec<u8>>;

    #[test]
    fn a_coding_that_stops_half_way_is_an_error() {
        let text = b"some words, and some words again, and more";
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::default());
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(text).unwrap();
        deflate.write_all(text).unwrap();
        gzip.write_all(text).unwrap();
        let cases: [(Vec<u8>, Make); 3] = [
            (zlib.finish().unwrap(), Decoder::zlib),
            (deflate.finish().unwrap(), Decoder::raw_deflate),
            (gzip.finish().unwrap(), Decoder::gzip),
        ];
        for (whole, make) in cases {
            for length in 1..=whole.len() {
                let mut decoder = make(Vec::new());
                let coding = decoder.coding();
                let outcome = decoder
                    .write_all(&whole[..length])
                    .and_then(|()| decoder.finish());
                assert_eq!(
                    outcome.is_ok(),
                    length == whole.len(),
                    "{coding:?} {length}"
                );
            }
        }
    }
}
